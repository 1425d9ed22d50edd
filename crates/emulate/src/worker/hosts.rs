//! Hosts: network namespaces, each with a device, an address and a route to the other hosts.

use super::device::{self, Device, INTERFACE};
use super::sockets;
use crate::protocol::{
    Backend, DefaultCongestionControl, HostSetup, SocketOptions, WorkerSetup, send_descriptor,
};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, setns, unshare};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::Command;

/// Hosts of the emulation, which exist as long as the worker.
#[derive(Debug)]
pub struct Hosts {
    namespaces: Vec<File>,
    devices: Vec<Device>,
    /// Settings of each host by name, as read back from the kernel.
    pub sysctls: BTreeMap<String, BTreeMap<String, String>>,
    /// Names of the devices' features that are off.
    pub offloads_off: Vec<String>,
}

impl Hosts {
    /// Creates the hosts of a setup.
    ///
    /// # Errors
    /// The machine lacks something or does not allow it; a sentence for the user.
    pub fn create(setup: &WorkerSetup) -> Result<Self, String> {
        name_hosts(setup)?;
        let mut hosts = Self {
            namespaces: Vec::new(),
            devices: Vec::new(),
            sysctls: BTreeMap::new(),
            offloads_off: Vec::new(),
        };
        // The outer ends of veth pairs have a namespace of their own.
        new_network()?;
        let between = own_network()?;
        for (index, host) in setup.hosts.iter().enumerate() {
            new_network()?;
            let namespace = own_network()?;
            let device = match setup.backend {
                Backend::Tun => device::open_tun()?,
                Backend::Precise => device::open_veth((index, host.mtu), &between, &namespace)?,
            };
            hosts.offloads_off = device::disable_offloads(INTERFACE)?;
            hosts.set_up(host)?;
            hosts.namespaces.push(namespace);
            hosts.devices.push(device);
        }
        Ok(hosts)
    }

    /// Sets the address of the device in this thread's namespace, and the kernel settings.
    fn set_up(&mut self, host: &HostSetup) -> Result<(), String> {
        // Settings are written before the device is brought up, because IP reads some of them at
        // that time. (TCP reads its settings when a connection begins.)
        let mut settings = BTreeMap::new();
        // The models carry only IPv4, so packets of IPv6 neighbour discovery would be unroutable.
        write_sysctl("ipv6/conf/all/disable_ipv6", "1").ok();
        for (key, value) in &host.sysctls {
            let set = write_sysctl(key, value).map_err(|error| {
                format!(
                    "this kernel has no net.{} = {value} ({error}): it needs a newer one, or a \
                     scenario that does not ask for it",
                    key.replace('/', ".")
                )
            })?;
            settings.insert(format!("net.{}", key.replace('/', ".")), set);
        }
        let HostSetup { address, mtu, .. } = host;
        let mut route = host.route.clone();
        if let Some(default) = &host.congestion_control {
            let settled = default_congestion_control(default, &host.name)?;
            if settled == Settled::ByRoute {
                route.insert("congctl".to_owned(), default.name.clone());
            }
            let own = read_sysctl(CONGESTION_CONTROL).unwrap_or_default();
            let own = if settled == Settled::ByRoute { default.name.clone() } else { own };
            settings.insert("congestion control of programs".to_owned(), own);
        }
        let attributes = route.iter().map(|(key, value)| format!("{key} {value}"));
        let attributes: Vec<String> = attributes.collect();
        run_ip_commands(&format!(
            "link set lo up\nlink set {INTERFACE} mtu {mtu} txqueuelen 10000\n\
             addr add {address}/32 dev {INTERFACE}\nlink set {INTERFACE} up\n\
             route add 10.0.0.0/8 dev {INTERFACE} src {address} {}\n",
            attributes.join(" ")
        ))?;
        settings.insert("route".to_owned(), attributes.join(" "));
        self.sysctls.insert(host.name.clone(), settings);
        Ok(())
    }

    /// Moves this thread into a host.
    ///
    /// # Errors
    /// The thread cannot enter it; a sentence with the reason.
    pub fn enter_namespace(&self, host: usize) -> Result<(), String> {
        setns(&self.namespaces[host], CloneFlags::CLONE_NEWNET)
            .map_err(|error| format!("a network namespace cannot be entered: {}", error.desc()))
    }

    /// Passes the devices to the emulator.
    ///
    /// # Errors
    /// The emulator is gone.
    pub fn hand_over(&self, socket: &UnixStream) -> io::Result<()> {
        self.devices.iter().try_for_each(|device| send_descriptor(socket, device.0.as_fd()))
    }

    /// Number of packets that each host's device dropped because its queue was full, as happens if
    /// the emulator is late.
    pub fn device_drops(&self) -> Vec<u64> {
        let drops = |host| {
            self.enter_namespace(host).ok()?;
            let table = fs::read_to_string("/proc/thread-self/net/dev").ok()?;
            let line = table
                .lines()
                .find_map(|line| line.trim_start().strip_prefix(INTERFACE)?.strip_prefix(':'))?;
            let fields: Vec<u64> =
                line.split_whitespace().filter_map(|field| field.parse().ok()).collect();
            // Columns of received packets: bytes packets errs drop fifo frame compressed multicast;
            // then those of sent packets: bytes packets errs drop fifo colls carrier compressed.
            Some(fields.get(3)? + fields.get(11)?)
        };
        (0..self.namespaces.len()).map(|host| drops(host).unwrap_or(0)).collect()
    }
}

/// Sysctl for the congestion control of sockets that choose none.
const CONGESTION_CONTROL: &str = "ipv4/tcp_congestion_control";

/// Method by which a host's default congestion control was set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Settled {
    /// The sysctl is set, which applies to sockets without a choice of their own.
    BySysctl,
    /// The route has an attribute, which overrides the choice of all sockets.
    ByRoute,
    /// The default was not set, because this congestion control is not available and no program
    /// needs the default.
    Not,
}

/// Sets the congestion control for the sockets in this thread's namespace that choose none. The
/// sysctl is tried first; it accepts only algorithms that unprivileged users may choose
/// (`tcp_set_default_congestion_control`). Otherwise an attribute of the route is used. The
/// attribute may be any algorithm, but it overrides the choice of every socket (`tcp_ca_dst_init`),
/// so all flows of the host must use this algorithm.
fn default_congestion_control(
    default: &DefaultCongestionControl,
    host: &str,
) -> Result<Settled, String> {
    let DefaultCongestionControl {
        name,
        used_by_all_flows: is_of_all,
        needed_by_programs: is_needed,
    } = default;
    let options = SocketOptions { congestion_control: name.clone(), ..SocketOptions::default() };
    // Opening a socket with this congestion control also loads its module.
    sockets::open_socket(&options)
        .map_err(|error| sockets::congestion_control_error(name, &error))?;
    if write_sysctl(CONGESTION_CONTROL, name).is_ok() {
        return Ok(Settled::BySysctl);
    }
    match (is_of_all, is_needed) {
        (true, _) => Ok(Settled::ByRoute),
        (false, false) => Ok(Settled::Not),
        (false, true) => Err(format!(
            "programs in the host {host} would get the congestion control \"{name}\" of its \
             first flow, but other flows there have another, and the kernel allows both only if \
             it is among net.ipv4.tcp_allowed_congestion_control of the machine: add it there, or \
             run the programs in a host of their own"
        )),
    }
}

fn new_network() -> Result<(), String> {
    unshare(CloneFlags::CLONE_NEWNET).map_err(|error| {
        format!("the kernel does not allow network namespaces here: {}", error.desc())
    })
}

/// Network namespace of this thread.
fn own_network() -> Result<File, String> {
    File::open("/proc/thread-self/ns/net")
        .map_err(|error| format!("/proc/thread-self/ns/net cannot be opened: {error}"))
}

/// Writes a value below `/proc/sys/net`, and reads it back.
fn write_sysctl(key: &str, value: &str) -> io::Result<String> {
    let path = format!("/proc/sys/net/{key}");
    fs::write(&path, value)?;
    read_sysctl(key)
}

fn read_sysctl(key: &str) -> io::Result<String> {
    let text = fs::read_to_string(format!("/proc/sys/net/{key}"))?;
    Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Runs commands of iproute2 in this thread's network namespace.
///
/// # Errors
/// `ip` fails, or is missing.
pub fn run_ip_commands(commands: &str) -> Result<(), String> {
    for command in commands.lines() {
        let output = Command::new("ip").args(command.split_whitespace()).output();
        let output = output.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => "the command ip is missing: install iproute2".to_owned(),
            _ => format!("ip cannot be started: {error}"),
        })?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("ip {}: {}", command.trim_end(), said.trim()));
        }
    }
    Ok(())
}

/// Lets programs resolve the hosts' names, by files that exist only in this worker's mount
/// namespace.
fn name_hosts(setup: &WorkerSetup) -> Result<(), String> {
    let refused = |what: &'static str| {
        move |error: nix::Error| format!("{what} is not allowed here: {}", error.desc())
    };
    let none = None::<&str>;
    // The following mounts must not propagate to the mount namespace of the machine.
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount(none, "/", none, private, none).map_err(refused("a mount namespace of its own"))?;
    let mut text = fs::read_to_string("/etc/hosts").unwrap_or_default();
    for host in &setup.hosts {
        writeln!(text, "{}\t{}", host.address, host.name).expect("memory takes it");
    }
    // A temporary file system is mounted until its files have been bind-mounted at their paths in
    // `/etc`.
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("tmpfs"), "/mnt", Some("tmpfs"), flags, none).map_err(refused("mounting"))?;
    // Without name servers, looking up another name fails immediately instead of after a timeout.
    let no_servers = "# hosts of an emulation\n".to_owned();
    for (file, text) in [("hosts", text), ("resolv.conf", no_servers)] {
        let [from, to] = [format!("/mnt/{file}"), format!("/etc/{file}")];
        // If the machine lacks the file, there is no mount point, and programs have to use
        // addresses instead of names.
        let _ = fs::write(&from, text).is_ok()
            && mount(Some(from.as_str()), to.as_str(), none, MsFlags::MS_BIND, none).is_ok();
    }
    umount2("/mnt", MntFlags::MNT_DETACH).map_err(refused("unmounting"))
}
