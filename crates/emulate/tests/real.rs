//! Emulations with this machine's kernel. Where it does not allow them they are skipped, and say
//! so.

use retx_emulate::{Backend, EmulateError, Emulated, LATENESS_BOUND, Launch, Settings, emulate};
use retx_scenario::{Scenario, Source, parse};
use retx_sim::{Control, Options};
use std::fs;
use std::os::unix::fs::PermissionsExt;

fn scenario(text: &str) -> Scenario {
    parse(&Source { name: "test", text, overrides: &[] }).expect("a sound scenario")
}

fn settings(backend: Backend) -> Settings {
    Settings {
        record: Options { drops: true, ..Options::default() },
        backend,
        programs: Vec::new(),
        lateness_bound: LATENESS_BOUND,
        rate_max: None,
        launch: Launch {
            command: vec![env!("CARGO_BIN_EXE_retx-emulate-worker").to_owned()],
            output_to_error: true,
        },
    }
}

/// What machines may refuse; the rest are mistakes of ours.
const NOT_HERE: [&str; 3] = ["does not let", "does not allow", "there is no /dev/net/tun"];

/// `None`, with the reason on the standard error, where the machine does not allow it.
fn allowed(result: Result<Emulated, EmulateError>) -> Option<Emulated> {
    match result {
        Ok(emulated) => Some(emulated),
        Err(EmulateError::Machine(sentence)) if NOT_HERE.iter().any(|it| sentence.contains(it)) => {
            eprintln!("skipped: {sentence}");
            None
        }
        Err(other) => panic!("{other}"),
    }
}

/// A worker that has no privileges makes its hosts in a user namespace.
#[test]
fn an_ordinary_user_needs_no_privileges() {
    let setpriv = std::process::Command::new("setpriv").arg("--version").output();
    if !nix::unistd::geteuid().is_root() || setpriv.is_err() {
        eprintln!("skipped: only root can become somebody else, and needs setpriv for it");
        return;
    }
    // Where everybody may start it.
    let folder = std::env::temp_dir().join(format!("retx-emulate-{}", std::process::id()));
    let worker = folder.join("worker");
    fs::create_dir(&folder).expect("there is room for a folder");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).expect("it is ours");
    fs::copy(env!("CARGO_BIN_EXE_retx-emulate-worker"), &worker).expect("it can be copied");
    let user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let mut command: Vec<String> = user.map(str::to_owned).into();
    command.push(worker.to_string_lossy().into_owned());
    let launch = Launch { command, output_to_error: true };
    for backend in [Backend::Tun, Backend::Precise] {
        let settings = Settings { launch: launch.clone(), ..settings(backend) };
        if let Some(emulated) = allowed(emulate(&scenario(SMALL), &settings, &Control::default())) {
            check_small(&emulated);
        }
    }
    fs::remove_dir_all(&folder).expect("it is ours");
}

/// 20 segments of 1448 bytes over 10 ms each way; the fourth packet is lost.
const SMALL: &str = r#"
    duration = "10 s"
    [[link]]
    name = "wire"
    ends = ["server", "client"]
    rate = "10 Mbit/s"
    delay = "10 ms"
    forward.channel = { model = "script", drop = [3] }
    [[flow]]
    name = "f"
    from = "server"
    to = "client"
    initiator = "to"
    tcp = "linux_reno"
    app = { kind = "transfer", bytes = 28960 }
"#;

fn small(backend: Backend) {
    let result = emulate(&scenario(SMALL), &settings(backend), &Control::default());
    if let Some(emulated) = allowed(result) {
        check_small(&emulated);
    }
}

fn check_small(emulated: &Emulated) {
    let flow = &emulated.summary.flows[0];
    assert_eq!(flow.fault, None);
    assert_eq!(flow.bytes_delivered, 28_960);
    let response = flow.response_time_s.expect("the transfer is complete");
    // Two round trips, and one more for the window; below that no model or kernel can be.
    assert!((0.06..5.0).contains(&response), "{response} s");
    assert_eq!(flow.segments_retransmitted, 1);
    assert_eq!(flow.segments_sent, 21);
    assert_eq!(flow.kernel.total_retrans, 1);
    assert_eq!(flow.kernel.snd_mss, 1448);
    let drops = emulated.outcome.tables.drops.as_ref().expect("they were asked for");
    let [drop] = drops.rows() else { panic!("{:?}", drops.rows()) };
    // SYN/ACK, then from 1 on.
    assert_eq!(drop.packet_number, Some(3));
    let link = &emulated.summary.links[0];
    assert_eq!((link.drops.script, link.drops.queue), (1, 0));
    assert_eq!(emulated.summary.emulation.device_drops, 0);
}

#[test]
fn a_transfer_over_tun() {
    small(Backend::Tun);
}

#[test]
fn a_transfer_over_packet_sockets() {
    small(Backend::Precise);
}
