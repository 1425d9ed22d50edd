//! Player: feeds a script's packets and calls to a host in virtual time, and compares what the host
//! sends and returns with the script.

mod calls;
mod compare;
mod numbers;
mod packets;
mod times;
mod variables;

use crate::code::{Outcome, Program};
use crate::fault::{Difference, EarlyEnd, Refusal, Verdict};
use crate::host::Host;
use crate::options::Options;
use crate::script::{Action, Event, Script};
use crate::setup::{self, Setup};
use crate::show;
use calls::Pending;
use numbers::NumberMapping;
use retx_units::Time;
use times::{PreviousEvent, TimeWindow};
use variables::Variables;
pub use variables::tcp_info;

/// Result of playing a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlayResult {
    /// Verdict on the endpoint.
    pub verdict: Verdict,
    /// Output of the script's code blocks.
    pub printed: Vec<String>,
    /// Events in the notation of scripts, if recorded.
    pub trace: Vec<String>,
    /// Virtual time that has passed.
    pub simulated_time: Time,
}

impl PlayResult {
    /// Result of a script that could not be played at all.
    pub fn refused(refusal: Refusal) -> Self {
        Self {
            verdict: Verdict::Refused(refusal),
            printed: Vec::new(),
            trace: Vec::new(),
            simulated_time: Time::ZERO,
        }
    }
}

/// Plays a script that was parsed from `text`.
pub fn play(script: &Script, text: &str, options: &Options) -> PlayResult {
    let setup = match setup::prepare(script, options) {
        Ok(setup) => setup,
        Err(refusal) => return PlayResult::refused(refusal),
    };
    let mut player = Player {
        lines: text.lines().collect(),
        host: Host::new(setup.config.clone(), setup.initial_sequence, options.packets_max),
        setup,
        now: Time::ZERO,
        last: None,
        numbers: Vec::new(),
        pending: None,
        program: Program::default(),
        trace: options.trace.then(Vec::new),
        noted: 0,
    };
    set_up(&mut player.host, &player.setup);
    player.host.set_device_closed(player.setup.device_closed);
    let verdict = match player.run(&script.events) {
        Ok(()) => Verdict::Passed,
        Err(EarlyEnd::Failed(difference)) => Verdict::Failed(*difference),
        Err(EarlyEnd::Refused(refusal)) => Verdict::Refused(refusal),
    };
    PlayResult {
        verdict,
        printed: player.program.printed.iter().map(|line| show::one_line(line)).collect(),
        trace: player.trace.unwrap_or_default(),
        simulated_time: player.now,
    }
}

/// Applies settings of the machine, which no connection's configuration contains.
fn set_up(host: &mut Host, setup: &Setup) {
    host.set_unsent_low_water(setup.unsent_low_water);
    host.set_accepts_ecn(setup.accepts_ecn);
    host.set_base_mss(setup.mtu_probing.then_some(setup.base_mss));
}

/// Script being played.
struct Player<'a> {
    lines: Vec<&'a str>,
    setup: Setup,
    host: Host,
    now: Time,
    last: Option<PreviousEvent>,
    /// Mapping of each connection's numbers to those of the script.
    numbers: Vec<NumberMapping>,
    /// Call that waits, if any.
    pending: Option<Pending<'a>>,
    program: Program,
    trace: Option<Vec<String>>,
    /// Number of packets in `host.sent` that have been recorded in the trace.
    noted: usize,
}

impl<'a> Player<'a> {
    fn run(&mut self, events: &'a [Event]) -> Result<(), EarlyEnd> {
        for event in events {
            let due = self.time_window(event);
            match &event.action {
                Action::Outbound(packet) => self.require_outbound(event, packet, &due)?,
                Action::Inbound(packet) => {
                    self.reach(event, &due)?;
                    self.deliver_inbound(event, packet)?;
                }
                Action::Call(call) => {
                    self.finish_pending(event.line)?;
                    self.reach(event, &due)?;
                    self.call(event, call, &due)?;
                }
                Action::Command(text) => {
                    self.reach(event, &due)?;
                    let effects = setup::command_effects(text, event.line)?;
                    self.setup.apply(&effects, event.line)?;
                    self.host.reconfigure(self.setup.config.clone());
                    set_up(&mut self.host, &self.setup);
                    if let Some(closed) = effects.device_closed {
                        self.host.set_device_closed(closed);
                    }
                }
                Action::Code(block) => {
                    self.reach(event, &due)?;
                    let names = Variables { host: &self.host, now: self.now };
                    let outcome = self.program.run(block, &names)?;
                    self.judge(event, outcome)?;
                }
            }
            if self.host.is_exhausted() {
                return Err(EarlyEnd::failed(event.line, "the endpoint sends without end"));
            }
            self.last = Some(PreviousEvent::new(event, &due, self.now));
        }
        let line = events.last().map_or(0, |event| event.line);
        self.finish_pending(line)?;
        self.check_unmentioned(line, Time::NEVER)
    }

    fn judge(&mut self, event: &Event, outcome: Outcome) -> Result<(), EarlyEnd> {
        let Outcome::Broken { line, text, message } = outcome else { return Ok(()) };
        self.note("%{", &format!("assert {} }}%", show::one_line(&text)));
        Err(EarlyEnd::Failed(Box::new(Difference {
            line: line.max(event.line),
            message: "this does not hold".into(),
            expected: Some(format!("assert {}", show::one_line(&text))),
            actual: Some(show::one_line(&message)),
        })))
    }

    /// Advances the clock to an event's time.
    fn reach(&mut self, event: &Event, due: &TimeWindow) -> Result<(), EarlyEnd> {
        self.advance(due.begin)?;
        self.check_unmentioned(event.line, self.now)?;
        if !due.is_any && self.now.since(due.end) > due.tolerance {
            let message = format!(
                "it is {} already: what came before happened too late for this",
                show::format_time(self.now)
            );
            return Err(self.differs(event, message, None));
        }
        Ok(())
    }

    /// Advances the clock to `to`, and handles timers due before that time. Timers due exactly at
    /// `to` are handled after the script's event.
    fn advance(&mut self, to: Time) -> Result<(), EarlyEnd> {
        while self.next_wake() < to {
            self.wake()?;
        }
        self.now = self.now.max(to);
        Ok(())
    }

    /// Time of the next timer or deadline.
    fn next_wake(&self) -> Time {
        let deadline = self.pending.as_ref().map_or(Time::NEVER, Pending::deadline);
        self.host.poll_timeout().min(deadline)
    }

    /// Advances the clock to [`Self::next_wake`], and handles what is due.
    fn wake(&mut self) -> Result<(), EarlyEnd> {
        self.now = self.now.max(self.next_wake());
        self.host.handle_timeout(self.now);
        self.after_action()
    }

    /// Called after any action of the machine: retries waiting calls, and records what was sent.
    fn after_action(&mut self) -> Result<(), EarlyEnd> {
        self.retry_pending()?;
        while self.noted < self.host.sent.len() {
            let sent = self.host.sent[self.noted];
            self.noted += 1;
            self.numbers_of(sent.end).note_sent(&sent.segment);
            if self.trace.is_some() {
                let packet = self.numbers_of(sent.end).script_packet(&sent.segment, sent.ecn);
                self.note(">", &show::format_packet(&packet));
            }
        }
        Ok(())
    }

    /// If the script is exact, requires that every packet sent before `until` appears in the
    /// script.
    fn check_unmentioned(&mut self, line: u32, until: Time) -> Result<(), EarlyEnd> {
        if !self.setup.exact {
            return Ok(());
        }
        let Some(sent) = self.host.sent.front().filter(|sent| sent.at < until).copied() else {
            return Ok(());
        };
        let packet = self.numbers_of(sent.end).script_packet(&sent.segment, sent.ecn);
        Err(EarlyEnd::Failed(Box::new(Difference {
            line,
            message: "before this, the endpoint sent a packet that the script does not have".into(),
            expected: None,
            actual: Some(format!(
                "{} > {}",
                show::format_time(sent.at),
                show::format_packet(&packet)
            )),
        })))
    }

    /// Creates a difference at an event, with its line of the script.
    fn differs(&self, event: &Event, message: String, actual: Option<String>) -> EarlyEnd {
        let expected = self.lines.get(event.line as usize - 1).map(|line| show::one_line(line));
        EarlyEnd::Failed(Box::new(Difference { line: event.line, message, expected, actual }))
    }

    fn note(&mut self, mark: &str, text: &str) {
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{} {mark} {text}", show::format_time(self.now)));
        }
    }

    fn numbers_of(&mut self, end: usize) -> &mut NumberMapping {
        while self.numbers.len() <= end {
            self.numbers.push(NumberMapping::default());
        }
        &mut self.numbers[end]
    }
}
