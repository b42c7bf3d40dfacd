//! English text of Debian's packages: manuals and a book, for recalibrating real models.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::download::{Download, fetch};
use crate::shell::run;
use crate::workplace::Workplace;

/// A package, and the folders of its English pages below /usr/share.
struct Package {
    deb: Download,
    folders: &'static [&'static str],
}

/// Packages of Debian 12; each page says its licence.
const PACKAGES: [Package; 10] = [
    Package {
        deb: Download {
            name: "anarchism_15.3-3_all.deb",
            address: "http://deb.debian.org/debian/pool/main/a/anarchism/anarchism_15.3-3_all.deb",
            sha256: "cf21c10948b00e923c62eb31c39a3390413fa26c5ee0e3b925feb0ec7fe42948",
        },
        folders: &["doc/anarchism/html"],
    },
    Package {
        deb: Download {
            name: "debian-handbook_11.20220922_all.deb",
            address: "http://deb.debian.org/debian/pool/main/d/debian-handbook/debian-handbook_11.20220922_all.deb",
            sha256: "3d5dbeac1f1afc9c094eab9d0f701f6ecff99c4927d5a4794cf6c85678134faa",
        },
        folders: &["doc/debian-handbook/html/en-US"],
    },
    Package {
        deb: Download {
            name: "debian-policy_4.6.2.0_all.deb",
            address: "http://deb.debian.org/debian/pool/main/d/debian-policy/debian-policy_4.6.2.0_all.deb",
            sha256: "ef9d01b625c3b87c3a845c2cd1b66f1a16e9240b2b9e5bee53472a00e8457a39",
        },
        folders: &["doc/debian-policy/policy.html", "doc/debian-policy/perl-policy.html"],
    },
    Package {
        deb: Download {
            name: "developers-reference_12.18_all.deb",
            address: "http://deb.debian.org/debian/pool/main/d/developers-reference/developers-reference_12.18_all.deb",
            sha256: "0dba82f6fa16e373f2a84ad07e7971aa9264ad2e7d2ae46b37edbc9c5fd57e2e",
        },
        folders: &["developers-reference"],
    },
    Package {
        deb: Download {
            name: "debian-reference-en_2.100_all.deb",
            address: "http://deb.debian.org/debian/pool/main/d/debian-reference/debian-reference-en_2.100_all.deb",
            sha256: "9f31d3a17df505de09689ca255512ea58c1fc47c59bb1b0c7bf1c23362e9743f",
        },
        folders: &["debian-reference"],
    },
    Package {
        deb: Download {
            name: "debian-faq_11.1_all.deb",
            address: "http://deb.debian.org/debian/pool/main/d/debian-faq/debian-faq_11.1_all.deb",
            sha256: "427426e0cfa6888622fc1d72631071cb4b5a1f86ccde722e7820bcef284de5d0",
        },
        folders: &["doc/debian/FAQ"],
    },
    Package {
        deb: Download {
            name: "exim4-doc-html_4.96-1_all.deb",
            address: "http://deb.debian.org/debian/pool/main/e/eximdoc4/exim4-doc-html_4.96-1_all.deb",
            sha256: "f0613395fd73c3c278b619c8162c5a183e7874cbfdebe3614b4b3339d5d8a120",
        },
        folders: &["doc/exim4-doc-html/spec_html"],
    },
    Package {
        deb: Download {
            name: "aptitude-doc-en_0.8.13-5_all.deb",
            address: "http://deb.debian.org/debian/pool/main/a/aptitude/aptitude-doc-en_0.8.13-5_all.deb",
            sha256: "ba4864ca26464bbe06acd94dc4a79402eea5d7b2d3da943d6ecce3c752bc9e84",
        },
        folders: &["doc/aptitude/html/en"],
    },
    Package {
        deb: Download {
            name: "octave-doc_7.3.0-2_all.deb",
            address: "http://deb.debian.org/debian/pool/main/o/octave/octave-doc_7.3.0-2_all.deb",
            sha256: "b27897cc7e3d688daa5cb8f8d1ea47077f3fbd205ce32e22522200ff0c1eadd5",
        },
        folders: &["doc/octave/octave.html"],
    },
    Package {
        deb: Download {
            name: "maxima-doc_5.46.0-11_all.deb",
            address: "http://deb.debian.org/debian/pool/main/m/maxima/maxima-doc_5.46.0-11_all.deb",
            sha256: "01a726b693a7e465a62040ac5ade4762194d7553524231d77cd1fcd4a69a75b9",
        },
        folders: &["doc/maxima-doc/html"],
    },
];

/// A line is a paragraph.
const WIDTH: usize = 1 << 16;

/// Writes the text of every page into a file of `out`, which is named after its package and its page.
pub fn write(place: &Workplace, out: &Path) -> Result<()> {
    for Package { deb, folders } in &PACKAGES {
        let unpacked = tempfile::tempdir_in(&place.cache)?;
        unpack(&fetch(place, deb)?, unpacked.path())?;
        let package = deb.name.split('_').next().unwrap_or(deb.name);
        for folder in *folders {
            let pages = pages(&unpacked.path().join("usr/share").join(folder))?;
            ensure!(!pages.is_empty(), "{} has no pages in {folder}", deb.name);
            for page in pages {
                let name = page.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                let html = std::fs::read(&page)?;
                let text = html2text::config::plain_no_decorate()
                    .string_from_read(&html[..], WIDTH)
                    .with_context(|| format!("{name} of {package} is no page"))?;
                std::fs::write(out.join(format!("{package}-{name}.txt")), text)?;
            }
        }
    }
    Ok(())
}

/// The pages of a folder, each once, by name.
fn pages(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut pages = Vec::new();
    for entry in entries {
        let entry = entry?;
        let is_page = entry.file_name().to_string_lossy().ends_with(".html");
        if is_page && entry.file_type()?.is_file() {
            pages.push(entry.path());
        }
    }
    pages.sort();
    Ok(pages)
}

/// Unpacks the files of a package.
fn unpack(deb: &Path, into: &Path) -> Result<()> {
    run(Command::new("ar").arg("x").arg(deb).current_dir(into))
        .context("packages are unpacked with ar, of binutils")?;
    let archive = ["data.tar.xz", "data.tar.zst", "data.tar.gz"].into_iter().find(|name| into.join(name).is_file());
    let archive = archive.with_context(|| format!("{} holds no archive of files", deb.display()))?;
    run(Command::new("tar").arg("-xf").arg(archive).current_dir(into))
}
