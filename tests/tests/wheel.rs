//! The wheel `drope`: built by maturin, installed into an empty environment, and used from Python.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use drope_tests::maturin;

/// Runs a command that must succeed, and returns what it prints.
fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The folder of build output in which this test lies.
fn target_dir() -> PathBuf {
    std::env::current_exe().unwrap().ancestors().nth(3).unwrap().to_owned()
}

const SCRIPT: &str = r#"
import subprocess, sys
import drope
rows = drope.table("inspect", model=sys.argv[1], method="yarn", factor=4, json=sys.argv[2])
rows = rows if isinstance(rows, list) else rows.to_dict("records")
print(rows[0]["model"])
try:
    drope.run("inspect", model="no such folder")
except subprocess.CalledProcessError as error:
    print(error.returncode)
"#;

#[test]
fn the_wheel_carries_the_program_and_a_module() {
    let Some(maturin) = maturin() else { return };
    let root = Path::new(env!("DROPE_ROOT"));
    let folder = tempfile::tempdir().unwrap();
    let wheels = folder.path().join("wheels");
    let mut build = Command::new(maturin);
    build.current_dir(root).env("CARGO_TARGET_DIR", target_dir()).args(["build", "--release", "--out"]).arg(&wheels);
    output(&mut build);
    let wheel = std::fs::read_dir(&wheels).unwrap().next().unwrap().unwrap().path();
    let environment = folder.path().join("environment");
    output(Command::new("python3").args([OsStr::new("-m"), OsStr::new("venv"), environment.as_os_str()]));
    let python = environment.join("bin/python");
    output(Command::new(&python).args(["-m", "pip", "install", "--no-index", "--no-deps"]).arg(&wheel));
    let version = output(Command::new(&python).args(["-m", "drope", "--version"]));
    assert_eq!(version, format!("core {}\n", env!("CARGO_PKG_VERSION")));
    let mut script = Command::new(&python);
    script.args(["-c", SCRIPT]).arg(root.join("models/nano-rope")).arg(folder.path().join("models.json"));
    // Behind what `core inspect` prints itself.
    assert!(output(&mut script).ends_with("nano-rope\n2\n"));
}
