//! Reports of a worker during its run and at its end.

use crate::error::EmulateError;
use crate::protocol::{DatagramReport, FlowReport, ProxyReport, WorkerMessage, receive};
use retx_units::Time;
use std::collections::BTreeMap;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};

/// State of a worker as reported during the run, for the thread that moves packets.
#[derive(Debug, Default)]
pub struct Progress {
    flows_done: AtomicUsize,
    failed_flows: Mutex<BTreeMap<u32, Time>>,
    programs_done: AtomicUsize,
    final_packet_counts: Mutex<BTreeMap<usize, u64>>,
    exit_codes: Mutex<BTreeMap<usize, i32>>,
    lost: AtomicBool,
    refusal: Mutex<Option<String>>,
}

impl Progress {
    /// Number of finite TCP flows that have ended.
    pub fn flows_done(&self) -> usize {
        self.flows_done.load(Ordering::Relaxed)
    }

    /// Time at which each TCP flow that has failed did so, by the flow's index.
    pub fn failed_flows(&self) -> BTreeMap<u32, Time> {
        self.failed_flows.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Number of packets of each UDP flow that has sent its last packet, by the flow's index among
    /// the UDP flows.
    pub fn final_packet_counts(&self) -> BTreeMap<usize, u64> {
        self.final_packet_counts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Number of programs that have ended, without those in the background.
    pub fn programs_done(&self) -> usize {
        self.programs_done.load(Ordering::Relaxed)
    }

    /// True if the worker has ended.
    pub fn has_ended(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// Reason why the worker has ended; `None` while it runs.
    pub fn end_reason(&self) -> Option<EmulateError> {
        let refusal = self.refusal.lock().unwrap_or_else(PoisonError::into_inner).take();
        let gone =
            || EmulateError::io_error("the worker has gone")(io::ErrorKind::BrokenPipe.into());
        self.has_ended().then(|| refusal.map_or_else(gone, EmulateError::Machine))
    }

    /// Exit code of each program that has ended, by its index.
    pub fn exit_codes(&self) -> BTreeMap<usize, i32> {
        self.exit_codes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Final report of a worker.
#[derive(Debug)]
pub struct WorkerReport {
    /// Report of each TCP flow.
    pub flows: Vec<FlowReport>,
    /// Report of each proxy.
    pub proxies: Vec<ProxyReport>,
    /// Report of each UDP flow.
    pub datagrams: Vec<DatagramReport>,
    /// Number of packets that each host's device dropped.
    pub device_drops: Vec<u64>,
}

/// Receives the messages of a running worker until it ends.
pub fn listen(socket: &UnixStream, progress: &Progress, sender: &mpsc::Sender<WorkerReport>) {
    loop {
        match receive::<WorkerMessage>(socket) {
            Ok(WorkerMessage::FlowDone) => {
                progress.flows_done.fetch_add(1, Ordering::Relaxed);
            }
            Ok(WorkerMessage::FlowFailed { flow, at }) => {
                let mut all = progress.failed_flows.lock().unwrap_or_else(PoisonError::into_inner);
                all.insert(flow, at);
            }
            Ok(WorkerMessage::ProgramDone(number, code)) => {
                let mut codes = progress.exit_codes.lock().unwrap_or_else(PoisonError::into_inner);
                codes.insert(number, code);
            }
            Ok(WorkerMessage::Awaited) => {
                progress.programs_done.fetch_add(1, Ordering::Relaxed);
            }
            Ok(WorkerMessage::AllSent { flow, packets }) => {
                let mut all =
                    progress.final_packet_counts.lock().unwrap_or_else(PoisonError::into_inner);
                all.insert(flow, packets);
            }
            Ok(WorkerMessage::Report { flows, proxies, datagrams, device_drops }) => {
                let _ = sender.send(WorkerReport { flows, proxies, datagrams, device_drops });
            }
            Ok(WorkerMessage::Refused(sentence)) => {
                let mut refusal = progress.refusal.lock().unwrap_or_else(PoisonError::into_inner);
                *refusal = Some(sentence);
            }
            Ok(WorkerMessage::Ready { .. }) | Err(_) => {
                // The socket is closed, or the worker has sent a message that is not valid during
                // the run. The main loop then ends the run.
                progress.lost.store(true, Ordering::Relaxed);
                return;
            }
        }
    }
}
