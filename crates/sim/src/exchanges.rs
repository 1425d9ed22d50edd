//! Requests and responses: a client at the receiving endpoint sends a request, the server (the data
//! sender) responds, and after a think time the client sends its next request.

use crate::app::App;
use crate::plan::ExchangePlan;
use crate::recorder::Recorder;
use retx_record::distribution::Distribution;
use retx_record::tables::Exchange;
use retx_tcp::Connection;
use retx_units::{Duration, RandomStream, StreamKey, Time};

/// Sizes of requests and responses, drawn in the order of the exchanges. Two sequences of the same
/// flow draw equal sizes. Client and server may therefore have a sequence each (as in emulations),
/// and need not begin an exchange at the same time.
#[derive(Debug, Clone)]
pub struct ExchangeSequence {
    plan: ExchangePlan,
    requests: RandomStream,
    responses: RandomStream,
    services: RandomStream,
    thoughts: RandomStream,
    /// Number of exchanges begun.
    asked: u32,
}

/// Sizes of an exchange, bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExchangeSizes {
    /// Size of the request.
    pub request: u64,
    /// Size of the response.
    pub response: u64,
}

impl ExchangeSequence {
    /// Creates the sequence of the flow called `name`, before its first exchange. Its draws depend
    /// only on the name and the stream key.
    pub fn new(plan: ExchangePlan, key: StreamKey, name: &str) -> Self {
        let stream = |of: &str| key.stream(&format!("flow.{name}.{of}"));
        Self {
            plan,
            requests: stream("requests"),
            responses: stream("responses"),
            services: stream("services"),
            thoughts: stream("thoughts"),
            asked: 0,
        }
    }

    /// Begins the next exchange.
    pub fn next_exchange(&mut self) -> ExchangeSizes {
        let size = |amount: f64| amount.round().max(1.0) as u64;
        let number = self.asked;
        self.asked += 1;
        ExchangeSizes {
            request: size(self.plan.request_bytes.draw(&mut self.requests)),
            response: size(self.plan.response_bytes.draw(number, &mut self.responses)),
        }
    }

    /// Time that the server takes for the response of the current exchange.
    pub fn draw_service_time(&mut self) -> Duration {
        let number = self.asked.saturating_sub(1);
        Duration::from_secs_f64(self.plan.service_time.draw(number, &mut self.services))
    }

    /// Draws a think time.
    pub fn draw_think_time(&mut self) -> Duration {
        Duration::from_secs_f64(self.plan.think_time.draw(&mut self.thoughts))
    }

    /// True if the current exchange is the last one.
    pub fn is_last(&self) -> bool {
        self.plan.count.is_some_and(|count| self.asked >= count)
    }

    /// True if the current exchange is the last one on its connection.
    pub fn is_last_of_connection(&self) -> bool {
        self.plan.connection_per_exchange || self.is_last()
    }
}

/// Exchanges of a flow.
#[derive(Debug, Clone)]
pub struct Exchanges {
    sequence: ExchangeSequence,
    /// Start of the current exchange.
    begun: Time,
    sizes: ExchangeSizes,
    /// Bytes of the request that the client has not written yet.
    unwritten: u64,
    /// Bytes of the request that the server has not read yet.
    unread: u64,
    /// Time of the client's next request on the open connection; [`Time::NEVER`] while it waits for
    /// a response.
    pub think_until: Time,
    /// Time of the server's response to the request that it has read.
    pub responds_at: Time,
    answered: u32,
    /// Bytes of responses that the server has written on this connection.
    pub response_bytes_written: u64,
    /// Distribution of the times from a request to the last byte of its response.
    pub response_times: Distribution,
}

impl Exchanges {
    /// Creates the exchanges of the flow called `name`, before the first one. Their random draws
    /// depend only on the name and the stream key.
    pub fn new(plan: ExchangePlan, key: StreamKey, name: &str) -> Box<Self> {
        Box::new(Self {
            sequence: ExchangeSequence::new(plan, key, name),
            begun: Time::ZERO,
            sizes: ExchangeSizes::default(),
            unwritten: 0,
            unread: 0,
            think_until: Time::NEVER,
            responds_at: Time::NEVER,
            answered: 0,
            response_bytes_written: 0,
            response_times: Distribution::default(),
        })
    }

    /// Begins an exchange on a connection that is about to be opened.
    pub fn begin_connection(&mut self, now: Time, app: &mut App) {
        self.response_bytes_written = 0;
        self.responds_at = Time::NEVER;
        app.open_supply();
        self.send_request(now, app);
    }

    fn send_request(&mut self, now: Time, app: &mut App) {
        self.sizes = self.sequence.next_exchange();
        (self.unwritten, self.unread) = (self.sizes.request, self.sizes.request);
        self.begun = now;
        self.think_until = Time::NEVER;
        app.add_expected(self.sizes.response);
    }

    /// Lets the client send after an event of its connection: a request that is due, or the rest of
    /// the current one.
    pub fn drive_client(&mut self, now: Time, app: &mut App, connection: &mut Connection) {
        if self.think_until <= now {
            self.send_request(now, app);
        }
        if self.unwritten > 0 {
            self.unwritten -= connection.write(now, self.unwritten);
        }
    }

    /// Lets the server read, and write a response that is due.
    pub fn drive_server(&mut self, now: Time, app: &mut App, connection: &mut Connection) {
        if self.unread > 0 && connection.readable() > 0 {
            self.unread -= connection.read(self.unread);
            if self.unread == 0 {
                self.responds_at = now + self.sequence.draw_service_time();
            }
        }
        if self.responds_at <= now {
            self.responds_at = Time::NEVER;
            self.response_bytes_written += self.sizes.response;
            app.add_supply(self.sizes.response);
            if self.sequence.is_last_of_connection() {
                app.end_supply();
            }
        }
    }

    /// Records that the client has read a whole response.
    pub fn note_response(&mut self, now: Time, flow: u32, recorder: &mut Recorder) {
        self.answered += 1;
        self.response_times.add(now.since(self.begun));
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
        if !self.sequence.is_last_of_connection() {
            self.think_until = now + self.sequence.draw_think_time();
        }
    }

    /// Draws a think time.
    pub fn draw_think_time(&mut self) -> Duration {
        self.sequence.draw_think_time()
    }

    /// True once the last response has been read.
    pub fn are_done(&self) -> bool {
        self.sequence.plan.count.is_some_and(|count| self.answered >= count)
    }
}
