//! Requests and responses: a client at the receiving end asks, the data sender answers, the client
//! thinks and asks again.

use crate::app::App;
use crate::plan::ExchangePlan;
use crate::recorder::Recorder;
use retx_record::distribution::Distribution;
use retx_record::tables::Exchange;
use retx_tcp::Connection;
use retx_units::{Duration, Law, Stream, StreamKey, Time};

/// What is asked and what is answered, drawn one after the other: the same at both ends, however
/// they hear of each other.
#[derive(Debug, Clone)]
pub struct Script {
    plan: ExchangePlan,
    requests: Stream,
    responses: Stream,
    thoughts: Stream,
    /// Exchanges begun.
    asked: u32,
}

/// The bytes of an exchange.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Asked {
    /// Of the request.
    pub request: u64,
    /// Of the response.
    pub response: u64,
}

impl Script {
    /// Before the first, of the flow called `name`. What is drawn depends on nothing else.
    pub fn new(plan: ExchangePlan, key: StreamKey, name: &str) -> Self {
        let stream = |of: &str| key.stream(&format!("flow.{name}.{of}"));
        Self {
            plan,
            requests: stream("requests"),
            responses: stream("responses"),
            thoughts: stream("thoughts"),
            asked: 0,
        }
    }

    /// The next exchange begins.
    pub fn ask(&mut self) -> Asked {
        let size = |law: Law, stream: &mut Stream| law.draw(stream).round().max(1.0) as u64;
        self.asked += 1;
        Asked {
            request: size(self.plan.request, &mut self.requests),
            response: size(self.plan.response, &mut self.responses),
        }
    }

    /// How long the client thinks.
    pub fn think(&mut self) -> Duration {
        Duration::from_secs_f64(self.plan.think.draw(&mut self.thoughts))
    }

    /// No other is to follow the one under way.
    pub fn is_last(&self) -> bool {
        self.plan.count.is_some_and(|count| self.asked >= count)
    }

    /// No other is to follow the one under way on its connection.
    pub fn is_last_of_connection(&self) -> bool {
        self.plan.each || self.is_last()
    }
}

/// The exchanges of a flow.
#[derive(Debug, Clone)]
pub struct Exchanges {
    script: Script,
    /// The one under way.
    begun: Time,
    sizes: Asked,
    /// Of its request, what the client has still to write and the server to read.
    unwritten: u64,
    unread: u64,
    /// When the client asks next on the connection that is open.
    pub think_until: Time,
    answered: u32,
    /// Bytes of the responses given on this connection.
    pub given: u64,
    /// From asking to the last byte of the response.
    pub times: Distribution,
}

impl Exchanges {
    /// Before the first, of the flow called `name`. What is drawn depends on nothing else.
    pub fn new(plan: ExchangePlan, key: StreamKey, name: &str) -> Box<Self> {
        Box::new(Self {
            script: Script::new(plan, key, name),
            begun: Time::ZERO,
            sizes: Asked::default(),
            unwritten: 0,
            unread: 0,
            think_until: Time::NEVER,
            answered: 0,
            given: 0,
            times: Distribution::default(),
        })
    }

    /// A connection is about to be opened, to ask over it.
    pub fn begin_connection(&mut self, now: Time, app: &mut App) {
        self.given = 0;
        app.open_supply();
        self.ask(now, app);
    }

    fn ask(&mut self, now: Time, app: &mut App) {
        self.sizes = self.script.ask();
        (self.unwritten, self.unread) = (self.sizes.request, self.sizes.request);
        self.begun = now;
        self.think_until = Time::NEVER;
        app.expect(self.sizes.response);
    }

    /// The client's turn, after whatever has happened to its connection.
    pub fn drive_client(&mut self, now: Time, app: &mut App, connection: &mut Connection) {
        if self.think_until <= now {
            self.ask(now, app);
        }
        if self.unwritten > 0 {
            self.unwritten -= connection.write(self.unwritten);
        }
    }

    /// The server's turn: reads, and gives the application a response once it has all of a request.
    pub fn drive_server(&mut self, app: &mut App, connection: &mut Connection) {
        if self.unread == 0 || connection.readable() == 0 {
            return;
        }
        self.unread -= connection.read(self.unread);
        if self.unread == 0 {
            self.given += self.sizes.response;
            app.give(self.sizes.response);
            if self.script.is_last_of_connection() {
                app.end_supply();
            }
        }
    }

    /// The client has read all of a response.
    pub fn note_answer(&mut self, now: Time, flow: u32, recorder: &mut Recorder) {
        self.answered += 1;
        self.times.add(now.since(self.begun));
        if let Some(exchanges) = &mut recorder.tables.exchanges {
            exchanges.push(Exchange {
                flow,
                number: u64::from(self.answered),
                start: self.begun,
                finish: now,
                request_bytes: self.sizes.request,
                response_bytes: self.sizes.response,
            });
        }
        if !self.script.is_last_of_connection() {
            self.think_until = now + self.script.think();
        }
    }

    /// How long the client thinks.
    pub fn think(&mut self) -> Duration {
        self.script.think()
    }

    /// The last one has been answered.
    pub fn are_done(&self) -> bool {
        self.script.plan.count.is_some_and(|count| self.answered >= count)
    }
}
