//! Endpoints of flows.

use crate::plan::Side;

/// Endpoint of a flow, in 32 bits. Endpoints are numbered flow by flow, senders first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Endpoint(u32);

impl Endpoint {
    /// Value for no endpoint; no flow has its index.
    pub const NONE: Self = Self(u32::MAX);

    /// Endpoint on this side of the flow with this index.
    #[inline(always)]
    pub const fn new(flow: u32, side: Side) -> Self {
        Self(2 * flow + side as u32)
    }

    /// Endpoint with this number.
    #[inline(always)]
    pub const fn from_number(number: u32) -> Self {
        Self(number)
    }

    /// Number of the endpoint.
    #[inline(always)]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// Index of the flow.
    #[inline(always)]
    pub const fn flow(self) -> u32 {
        self.0 >> 1
    }

    /// Side of the flow.
    #[inline(always)]
    pub const fn side(self) -> Side {
        if self.0 & 1 == 0 { Side::Sender } else { Side::Receiver }
    }
}
