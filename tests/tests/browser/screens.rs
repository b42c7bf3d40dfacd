//! What the screens say before they compute, and what they lead to.

use anyhow::Result;
use drope_tests::smollm2;
use fantoccini::Locator;
use serde_json::json;

use super::driver::Browser;
use super::server::Server;

#[tokio::test(flavor = "multi_thread")]
async fn the_columns_say_how_long_they_take_and_what_they_were_not_taught() -> Result<()> {
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    browser
        .client
        .goto(&format!("{}?screen=results&backend=cpu&columns=drope~rope@study-rope", server.address))
        .await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    browser.wait("#fill-time", 60, |text| text.starts_with("All 50 cells may take about")).await?;
    browser.enter("play").await?;
    for (task, said) in [
        ("multi-key", ""),
        (
            "latest-value",
            "Not taught this kind of question: the model of column 1. The study's models were; choose them under Model.",
        ),
        ("passkey", "Not taught this kind of question: all models here."),
    ] {
        browser.client.find(Locator::Id("task")).await?.select_by_value(task).await?;
        browser.wait("#untaught", 60, |text| text == said).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_model_is_asked_about_a_short_text_first_and_is_in_the_address() -> Result<()> {
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    browser.client.goto(&format!("{}?screen=model&backend=cpu&columns=rope~drope", server.address)).await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    browser.choose("model-zip", &[&smollm2()]).await?;
    let name = "SmolLM2-135M-Instruct.Q4_1";
    browser.wait(".stored", 240, |text| text.contains(name)).await?;
    browser.client.find(Locator::XPath("//button[contains(., 'Ask it')]")).await?.click().await?;
    browser.wait("#estimate", 60, |text| text.starts_with("2048 tokens; all columns may take about")).await?;
    // The number of tokens is kept as it is typed, and said to be wrong.
    browser.fill("tokens", "20").await?;
    browser.wait("#error", 60, |text| text.contains("64 to 65536 tokens")).await?;
    assert_eq!(browser.client.execute("return document.getElementById('tokens').value", vec![]).await?, "20");
    browser.fill("tokens", "16384").await?;
    let said = browser.wait("#estimate", 60, |text| text.starts_with("16384 tokens")).await?;
    assert!(said.contains("min") || said.contains(" h "), "{said}");
    browser.fill("tokens", "128").await?;
    browser.wait("#estimate", 60, |text| text.starts_with("128 tokens")).await?;
    let url = browser.client.current_url().await?.to_string();
    assert!(url.contains(&format!("~rope@{name}")) && url.contains("tokens=128"), "{url}");
    browser.client.refresh().await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    let chosen = "const list = document.getElementById('model-3'); return list && list.value";
    for _ in 0..600 {
        if browser.client.execute(chosen, vec![]).await? == name {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert_eq!(browser.client.execute(chosen, vec![]).await?, name);
    // Another browser does not have it, and says so.
    let other = Browser::open(1280, false).await?;
    other.client.goto(&url.replace(name, "somebodys-model")).await?;
    other.wait("#error", 60, |text| text.contains("does not keep somebodys-model")).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_that_looks_is_named_and_charts_have_numbers() -> Result<()> {
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    browser.client.goto(&format!("{}?screen=why&backend=cpu&extension=2&columns=rope~yarn", server.address)).await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    browser.click("probe").await?;
    let first = ".inside .answers > div:nth-child(1) p";
    browser.wait(first, 120, |text| text.contains("of its attention, from “")).await?;
    browser.client.find(Locator::Css("input[name=query] + span")).await?;
    browser.client.execute("document.querySelectorAll('input[name=query]')[1].click()", vec![]).await?;
    browser.wait(first, 60, |text| text.contains("from the last token")).await?;
    browser.enter("text").await?;
    browser.click("predict").await?;
    browser.client.wait().for_element(Locator::Css("[aria-label='Perplexity along the text'] polyline.strong")).await?;
    for chart in [".frequencies", ".inside", "[aria-label='Perplexity along the text']"] {
        let ticks = format!("return document.querySelectorAll(\"{chart} svg .tick\").length");
        assert!(browser.client.execute(&ticks, vec![]).await?.as_u64() >= Some(4), "{chart}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tour_lets_the_columns_answer() -> Result<()> {
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    browser.client.goto(&format!("{}?backend=cpu&tour=2&extension=2&columns=drope~rope", server.address)).await?;
    browser.wait("#backend", 60, |text| text.contains("CPU")).await?;
    browser.click("tour-next").await?;
    browser.wait("#column-2 .verdict", 120, |text| text.contains("tokens/s")).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_and_data_are_beside_the_page() -> Result<()> {
    let server = Server::start()?;
    let browser = Browser::open(1280, false).await?;
    browser.client.goto(&format!("{}?backend=cpu", server.address)).await?;
    browser.wait("footer .links", 60, |text| text.contains("The study")).await?;
    // Every link of the footer and of the documents that they lead to.
    let broken = "const done = arguments[0]; (async () => {
        const seen = new Set(), broken = [], waiting = [...document.querySelectorAll('.links a')].map((link) => link.href);
        while (waiting.length) {
          const address = waiting.pop().split('#')[0];
          if (seen.has(address) || !address.startsWith(location.origin)) continue;
          seen.add(address);
          const response = await fetch(address);
          if (!response.ok) broken.push(address);
          if (!address.endsWith('.html')) continue;
          const page = new DOMParser().parseFromString(await response.text(), 'text/html');
          page.querySelectorAll('a[href], img[src], link[href]').forEach((element) =>
            waiting.push(new URL(element.getAttribute('href') ?? element.getAttribute('src'), address).href));
        }
        done({ broken, pages: seen.size });
      })();";
    let found = browser.client.execute_async(broken, vec![]).await?;
    assert_eq!(found["broken"], json!([]), "{found}");
    assert!(found["pages"].as_u64() > Some(8), "{found}");
    Ok(())
}
