use drope_protocol::{Reply, Request};

use super::{Connection, Effect, Event, Page};
use crate::state::engine::{Backend, BackendChoice, Engine};

const PAGE: Page = Page { choice: BackendChoice::Auto, threads: 1, run: None };
const RUNNING: Page = Page { run: Some(7), ..PAGE };

/// A request of a run.
fn remove(run: u32) -> Request {
    Request::Remove { run, name: "m".into() }
}

fn ready(note: &str, threads: usize) -> Reply {
    Reply::Ready { note: note.into(), threads, subgroups: 1 }
}

fn start(backend: Backend, is_shared: bool, must_be_fast: bool, threads: usize) -> Effect {
    Effect::Start { backend, is_shared, must_be_fast, threads }
}

fn open(backend: Backend, threads: usize, note: &str) -> Effect {
    Effect::Show(Engine::Open { backend, threads, note: note.into() })
}

/// The workers after these events, and what the last one made to be done.
fn after(page: Page, events: impl IntoIterator<Item = Event>) -> (Connection, Vec<Effect>) {
    let mut connection = Connection::default();
    let effects = events.into_iter().map(|event| connection.handle(event, page)).last().unwrap_or_default();
    (connection, effects)
}

fn heard(backend: Backend, reply: Reply) -> Event {
    Event::Heard(backend, reply)
}

/// The CPU's worker computes, and WebGPU's is tried beside it.
fn trial() -> [Event; 4] {
    [Event::Wanted, heard(Backend::Cpu, Reply::Awake), heard(Backend::Cpu, ready("", 1)), Event::Adapter]
}

#[test]
fn the_cpu_begins_and_is_started_once() {
    let (mut connection, effects) = after(PAGE, [Event::Wanted]);
    let expected = [Effect::Show(Engine::Loading), start(Backend::Cpu, false, false, 1), Effect::FindAdapter];
    assert_eq!(effects, expected);
    assert_eq!(connection.handle(Event::Wanted, PAGE), []);
    assert_eq!(
        connection.handle(heard(Backend::Cpu, Reply::Awake), PAGE),
        [],
        "what the CPU's worker opens takes no time"
    );
    let effects = connection.handle(heard(Backend::Cpu, ready("", 1)), PAGE);
    assert_eq!(effects, [open(Backend::Cpu, 1, "WebGPU is being tried beside it")]);
    let effects = connection.handle(Event::NotTried("WebGPU has no adapter in this browser"), PAGE);
    assert_eq!(effects, [open(Backend::Cpu, 1, "WebGPU has no adapter in this browser")]);
}

#[test]
fn webgpu_that_is_fit_takes_over_with_the_next_run() {
    let (connection, effects) = after(PAGE, trial());
    assert_eq!(effects, [start(Backend::Webgpu, false, true, 1)]);
    let fit = heard(Backend::Webgpu, ready("it is faster", 1));
    let takes_over = [Effect::End(Backend::Cpu), open(Backend::Webgpu, 1, "it is faster")];
    // At once where nothing runs.
    assert_eq!(connection.clone().handle(fit.clone(), PAGE), takes_over);
    // With the next run where something does.
    let mut connection = connection;
    assert_eq!(connection.handle(fit, RUNNING), []);
    let effects = connection.handle(Event::Asked(remove(8)), PAGE);
    assert_eq!(effects, [&takes_over[..], &[Effect::Post(Backend::Webgpu, remove(8))]].concat());
}

#[test]
fn webgpu_that_is_not_fit_leaves_the_cpu_as_it_is() {
    for event in [
        heard(Backend::Webgpu, Reply::Unfit { note: "WebGPU is slower here".into() }),
        Event::Broke(Backend::Webgpu, "WebGPU is slower here".into()),
    ] {
        let (_, effects) = after(PAGE, trial().into_iter().chain([event]));
        let [ended, Effect::Show(Engine::Open { backend: Backend::Cpu, threads: 1, note })] = &effects[..] else {
            panic!("{effects:?}")
        };
        assert!(*ended == Effect::End(Backend::Webgpu) && note.contains("WebGPU is slower here"), "{note}");
    }
    // The browser may refuse the worker.
    let (mut connection, effects) = after(PAGE, trial().into_iter().chain([Event::NotStarted(Backend::Webgpu)]));
    assert_eq!(effects, []);
    assert_eq!(connection.handle(Event::Asked(remove(7)), PAGE), [Effect::Post(Backend::Cpu, remove(7))]);
}

#[test]
fn webgpu_that_was_asked_for_and_is_unfit_gives_way_and_the_run_is_asked_again() {
    let page = Page { choice: BackendChoice::Webgpu, ..RUNNING };
    let (mut connection, effects) = after(page, [Event::Asked(remove(7))]);
    let first = Effect::Post(Backend::Webgpu, remove(7));
    assert_eq!(effects, [Effect::Show(Engine::Loading), start(Backend::Webgpu, false, false, 1), first]);
    assert_eq!(connection.handle(heard(Backend::Webgpu, Reply::Awake), page), [Effect::Show(Engine::Opening)]);
    let effects = connection.handle(heard(Backend::Webgpu, Reply::Unfit { note: "no adapter".into() }), page);
    let begun = [Effect::Show(Engine::Loading), start(Backend::Cpu, false, false, 1)];
    let expected = [&[Effect::End(Backend::Webgpu), Effect::ClearLoading], &begun[..]].concat();
    assert_eq!(effects, [&expected[..], &[Effect::Post(Backend::Cpu, remove(7))]].concat());
    assert_eq!(connection.handle(heard(Backend::Cpu, ready("", 1)), page), [open(Backend::Cpu, 1, "no adapter")]);
}

#[test]
fn a_worker_that_does_not_stop_is_replaced_and_one_that_does_is_not() {
    let opened = trial().into_iter().take(3).chain([Event::Asked(remove(6))]);
    let (connection, effects) = after(PAGE, opened.chain([Event::Stopped(6)]));
    assert_eq!(effects, [Effect::Post(Backend::Cpu, Request::Stop), Effect::AwaitEnd(6)]);
    let mut in_time = connection.clone();
    let finished = Reply::Finished { run: 6 };
    assert_eq!(in_time.handle(heard(Backend::Cpu, finished.clone()), PAGE), [Effect::Take(finished)]);
    assert_eq!(in_time.handle(Event::GraceOver(6), PAGE), []);
    // What was asked since then is asked again.
    let mut late = connection;
    late.handle(Event::Asked(remove(7)), RUNNING);
    let effects = late.handle(Event::GraceOver(6), RUNNING);
    assert_eq!(effects[..2], [Effect::End(Backend::Cpu), Effect::ClearLoading]);
    assert!(matches!(&effects[2], Effect::Say(sentence) if sentence.contains("2 seconds and was started anew.")));
    assert_eq!(effects.last(), Some(&Effect::Post(Backend::Cpu, remove(7))));
    // A program that is still on its way does not hang.
    let (_, effects) = after(PAGE, [Event::Wanted, Event::Stopped(6), Event::GraceOver(6)]);
    assert_eq!(effects, []);
}

#[test]
fn webgpu_that_hangs_or_stops_is_not_used_again() {
    let page = Page { choice: BackendChoice::Webgpu, ..PAGE };
    let opened =
        [Event::Wanted, heard(Backend::Webgpu, Reply::Awake), heard(Backend::Webgpu, ready("as you asked", 1))];
    let (connection, effects) = after(page, opened);
    assert_eq!(effects, [Effect::ClearLoading, open(Backend::Webgpu, 1, "as you asked")]);
    let mut hangs = connection.clone();
    hangs.handle(Event::Stopped(6), page);
    let effects = hangs.handle(Event::GraceOver(6), page);
    assert_eq!(effects[..2], [Effect::End(Backend::Webgpu), Effect::ClearLoading]);
    assert!(matches!(&effects[2], Effect::Say(sentence) if sentence.ends_with("anew, on the CPU.")), "{effects:?}");
    assert_eq!(effects.last(), Some(&start(Backend::Cpu, false, false, 1)));
    // The reader's choice stays, and is not followed again.
    let opened = hangs.handle(heard(Backend::Cpu, ready("", 1)), page);
    assert_eq!(opened, [open(Backend::Cpu, 1, "WebGPU did not stop")]);
    let mut stops = connection;
    let effects = stops.handle(Event::Broke(Backend::Webgpu, "out of memory".into()), page);
    assert_eq!(effects[..2], [Effect::End(Backend::Webgpu), Effect::Show(Engine::Stopped)]);
    assert!(matches!(&effects[2], Effect::Fail(sentence) if sentence.contains("(out of memory). Ask again")));
    let again = stops.handle(Event::Asked(remove(7)), page);
    assert_eq!(again[1], start(Backend::Cpu, false, false, 1));
}

#[test]
fn a_program_of_several_threads_that_does_not_start_is_replaced_by_one_of_one() {
    let page = Page { threads: 2, choice: BackendChoice::Cpu, ..RUNNING };
    let (mut connection, effects) = after(page, [Event::Asked(remove(7))]);
    assert_eq!(effects[1], start(Backend::Cpu, true, false, 2));
    let effects = connection.handle(Event::Broke(Backend::Cpu, "no shared memory".into()), page);
    assert_eq!(effects[0], Effect::End(Backend::Cpu));
    assert_eq!(effects[2..], [start(Backend::Cpu, false, false, 1), Effect::Post(Backend::Cpu, remove(7))]);
    // A program that ran and failed is not started anew by itself.
    connection.handle(heard(Backend::Cpu, Reply::Awake), page);
    let effects = connection.handle(Event::Broke(Backend::Cpu, "unreachable".into()), page);
    assert!(matches!(effects.last(), Some(Effect::Fail(_))), "{effects:?}");
    let effects = connection.handle(Event::Asked(remove(8)), page);
    assert_eq!(effects[1], start(Backend::Cpu, false, false, 1), "the next run starts another worker");
}

#[test]
fn files_are_sent_once_and_a_browser_without_workers_is_named() {
    let page = Page { choice: BackendChoice::Webgpu, ..RUNNING };
    let (mut connection, effects) = after(page, [Event::AskedWithFiles(remove(7))]);
    assert_eq!(effects.last(), Some(&Effect::PostFiles(Backend::Webgpu, remove(7))));
    let effects = connection.handle(heard(Backend::Webgpu, Reply::Unfit { note: "none".into() }), page);
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Post(..) | Effect::PostFiles(..))), "{effects:?}");
    assert!(
        matches!(effects.last(), Some(Effect::Fail(sentence)) if sentence.contains("choose them again")),
        "{effects:?}"
    );
    let effects = connection.handle(Event::NotStarted(Backend::Cpu), page);
    assert_eq!(effects[0], Effect::Show(Engine::Stopped));
    assert!(matches!(&effects[1], Effect::Fail(sentence) if sentence.contains("starts no web workers")));
}
