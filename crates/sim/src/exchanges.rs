//! Requests and responses: a client at the receiving end asks, the data sender answers, the client
//! thinks and asks again.

use crate::app::App;
use crate::plan::ExchangePlan;
use crate::recorder::Recorder;
use retx_record::distribution::Distribution;
use retx_record::tables::Exchange;
use retx_tcp::Connection;
use retx_units::{Duration, Law, Stream, StreamKey, Time};

/// The exchanges of a flow.
#[derive(Debug, Clone)]
pub struct Exchanges {
    plan: ExchangePlan,
    requests: Stream,
    responses: Stream,
    thoughts: Stream,
    /// Exchanges begun.
    asked: u32,
    /// The one under way; its request and its response in bytes.
    begun: Time,
    request: u64,
    response: u64,
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
        let stream = |of: &str| key.stream(&format!("flow.{name}.{of}"));
        Box::new(Self {
            plan,
            requests: stream("requests"),
            responses: stream("responses"),
            thoughts: stream("thoughts"),
            asked: 0,
            begun: Time::ZERO,
            request: 0,
            response: 0,
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
        let size = |law: Law, stream: &mut Stream| law.draw(stream).round().max(1.0) as u64;
        self.request = size(self.plan.request, &mut self.requests);
        self.response = size(self.plan.response, &mut self.responses);
        (self.unwritten, self.unread) = (self.request, self.request);
        self.asked += 1;
        self.begun = now;
        self.think_until = Time::NEVER;
        app.expect(self.response);
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
            self.given += self.response;
            app.give(self.response);
            if self.plan.each || self.is_last() {
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
                request_bytes: self.request,
                response_bytes: self.response,
            });
        }
        if !self.plan.each && !self.is_last() {
            self.think_until = now + self.think();
        }
    }

    /// How long the client thinks.
    pub fn think(&mut self) -> Duration {
        Duration::from_secs_f64(self.plan.think.draw(&mut self.thoughts))
    }

    /// No other is to follow the one under way.
    fn is_last(&self) -> bool {
        self.plan.count.is_some_and(|count| self.asked >= count)
    }

    /// The last one has been answered.
    pub fn are_done(&self) -> bool {
        self.plan.count.is_some_and(|count| self.answered >= count)
    }
}
