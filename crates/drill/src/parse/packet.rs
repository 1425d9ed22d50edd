//! Packets and their TCP options.

use super::Parser;
use crate::fault::Refusal;
use crate::script::{EcnMark, OptionList, Packet, TcpOption};
use crate::token::TokenKind;
use retx_units::SeqNr;
use retx_wire::{Ecn, Flags, SackBlock, SackBlocks, TCP_OPTIONS_MAX_BYTES, Timestamps};

/// Largest sequence number.
const SEQUENCE_MAX: i64 = u32::MAX as i64;

impl Parser<'_> {
    /// Parses a TCP packet, after `<` or `>`.
    pub fn packet(&mut self) -> Result<Packet, Refusal> {
        self.refuse_other_protocols()?;
        let ecn = self.ip_information()?;
        if let (TokenKind::Integer(_), TokenKind::Symbol('>')) = (self.peek(), self.peek_second()) {
            let message = "ports are not supported: there is one connection at a time";
            return Err(Refusal::new(self.line(), message));
        }
        let flags = self.control_bits()?;
        let (seq, payload_bytes) = self.range()?;
        let ack = if self.accept_word("ack") {
            self.integer("an acknowledgment number", 0, SEQUENCE_MAX)? as u32
        } else {
            0
        };
        let window = if self.accept_word("win") {
            Some(self.integer("a window", 0, 65_535)? as u16)
        } else {
            None
        };
        if self.peek() == TokenKind::Word("urg") {
            return Err(Refusal::new(self.line(), "urgent data are not supported"));
        }
        let options = if self.accept('<') { self.option_list()? } else { no_options() };
        Ok(Packet { flags, seq, payload_bytes, ack, window, options, ecn })
    }

    fn refuse_other_protocols(&self) -> Result<(), Refusal> {
        let TokenKind::Word(
            word @ ("udp" | "icmp" | "ipv4" | "ipv6" | "gre" | "GREv0" | "mpls" | "raw"),
        ) = self.peek()
        else {
            return Ok(());
        };
        let message = format!("{word} packets are not supported: only TCP is played");
        Err(Refusal::new(self.line(), message))
    }

    /// ECN field, such as `[ect0]` or `(ect0)`; `None` if there is none.
    fn ip_information(&mut self) -> Result<Option<EcnMark>, Refusal> {
        let close = match self.peek() {
            TokenKind::Symbol('[') => ']',
            TokenKind::Symbol('(') => ')',
            _ => return Ok(None),
        };
        self.next_token();
        let mark = match self.peek() {
            TokenKind::Word("noecn") => EcnMark::Exactly(Ecn::NotEct),
            TokenKind::Word("ect0") => EcnMark::Exactly(Ecn::Ect0),
            TokenKind::Word("ect1") => EcnMark::Exactly(Ecn::Ect1),
            TokenKind::Word("ce") => EcnMark::Exactly(Ecn::Ce),
            TokenKind::Word("ect01") => EcnMark::Capable,
            TokenKind::Word(word @ ("tos" | "ttl" | "flowlabel")) => {
                return Err(Refusal::new(self.line(), format!("{word} is not supported")));
            }
            _ => return Err(self.unexpected_token("an ECN mark: noecn, ect0, ect1, ect01 or ce")),
        };
        self.next_token();
        self.require(close)?;
        Ok(Some(mark))
    }

    /// Control bits, such as `S`, `S.`, `.` or `P.`; `-` for none.
    fn control_bits(&mut self) -> Result<Flags, Refusal> {
        let line = self.line();
        let mut flags = Flags::default();
        match self.peek() {
            TokenKind::Symbol('-') => {
                self.next_token();
                return Ok(flags);
            }
            TokenKind::Symbol('.') => {}
            TokenKind::Word(letters) => {
                self.next_token();
                for letter in letters.chars() {
                    flags = flags.with(match letter {
                        'F' => Flags::FIN,
                        'S' => Flags::SYN,
                        'R' => Flags::RST,
                        'P' => Flags::PSH,
                        'E' => Flags::ECE,
                        'W' => Flags::CWR,
                        'U' | 'A' => {
                            let message = format!("the bit {letter} is not supported");
                            return Err(Refusal::new(line, message));
                        }
                        _ => {
                            let message = format!(
                                "\"{letter}\" is no control bit: they are F, S, R, P, E, W and . \
                                 for an acknowledgment"
                            );
                            return Err(Refusal::new(line, message));
                        }
                    });
                }
            }
            TokenKind::Decimal(_) => {
                return Err(Refusal::new(line, "the ACE field is not supported"));
            }
            _ => return Err(self.unexpected_token("control bits such as S, S., P. or .")),
        }
        Ok(if self.accept('.') { flags.with(Flags::ACK) } else { flags })
    }

    /// First sequence number and length of a packet, such as `1:1001(1000)`.
    fn range(&mut self) -> Result<(u32, u32), Refusal> {
        let line = self.line();
        let start = self.integer("a sequence number", 0, SEQUENCE_MAX)?;
        self.require(':')?;
        let end = self.integer("a sequence number", 0, SEQUENCE_MAX)?;
        self.require('(')?;
        let length = self.integer("a payload length", 0, 65_535)?;
        self.require(')')?;
        if end != start + length {
            let message = format!("{start}:{end}({length}): {start} + {length} is not {end}");
            return Err(Refusal::new(line, message));
        }
        Ok((start as u32, length as u32))
    }

    /// Options up to the closing `>`.
    fn option_list(&mut self) -> Result<OptionList, Refusal> {
        let line = self.line();
        if self.peek() == TokenKind::Ellipsis {
            self.next_token();
            self.require('>')?;
            return Ok(OptionList::Any);
        }
        let mut options = Vec::new();
        loop {
            options.push(self.tcp_option()?);
            if self.accept('>') {
                break;
            }
            self.require(',')?;
        }
        let bytes: u32 = options.iter().map(TcpOption::bytes).sum();
        if bytes > TCP_OPTIONS_MAX_BYTES || !bytes.is_multiple_of(4) {
            let message = format!(
                "{bytes} bytes of options: a header holds whole words of four bytes, at most \
                 {TCP_OPTIONS_MAX_BYTES}; pad with nop or eol"
            );
            return Err(Refusal::new(line, message));
        }
        Ok(OptionList::Exactly(options))
    }

    fn tcp_option(&mut self) -> Result<TcpOption, Refusal> {
        let TokenKind::Word(name) = self.peek() else {
            return Err(self.unexpected_token("a TCP option"));
        };
        let line = self.line();
        self.next_token();
        Ok(match name {
            "nop" => TcpOption::Nop,
            "eol" => TcpOption::Eol,
            "mss" => TcpOption::Mss(self.integer("an MSS", 0, 65_535)? as u16),
            "wscale" => TcpOption::WindowScale(self.integer("a shift", 0, 255)? as u8),
            "sackOK" => TcpOption::SackPermitted,
            "sack" => TcpOption::Sack(self.sack_blocks()?),
            "TS" => TcpOption::Timestamps(self.timestamps()?),
            "md5" => {
                let (TokenKind::Word(_) | TokenKind::Integer(_)) = self.next_token() else {
                    return Err(Refusal::new(line, "expected the digits of a signature after md5"));
                };
                TcpOption::Md5
            }
            "FO" | "FOEXP" | "ECN" | "exp" => {
                return Err(Refusal::new(line, format!("the option {name} is not supported")));
            }
            _ => {
                let message = format!(
                    "\"{name}\" is no TCP option: they are mss, wscale, sackOK, sack, TS, nop, eol"
                );
                return Err(Refusal::new(line, message));
            }
        })
    }

    fn sack_blocks(&mut self) -> Result<SackBlocks, Refusal> {
        let mut blocks = SackBlocks::default();
        loop {
            let line = self.line();
            let left = self.integer("a SACK block", 0, SEQUENCE_MAX)? as u32;
            self.require(':')?;
            let right = self.integer("a SACK block's end", 0, SEQUENCE_MAX)? as u32;
            if blocks.as_slice().len() == 4 {
                return Err(Refusal::new(line, "a header has no room for a fifth SACK block"));
            }
            blocks.push(SackBlock { left: SeqNr(left), right: SeqNr(right) });
            if !matches!(self.peek(), TokenKind::Integer(_)) {
                return Ok(blocks);
            }
        }
    }

    /// Timestamps after `TS`, such as `val 1 ecr 2`.
    fn timestamps(&mut self) -> Result<Timestamps, Refusal> {
        if !self.accept_word("val") {
            return Err(self.unexpected_token("TS val NUMBER ecr NUMBER"));
        }
        let value = self.integer("a timestamp", 0, SEQUENCE_MAX)? as u32;
        if !self.accept_word("ecr") {
            return Err(self.unexpected_token("TS val NUMBER ecr NUMBER"));
        }
        let echo = self.integer("a timestamp", 0, SEQUENCE_MAX)? as u32;
        Ok(Timestamps { value, echo })
    }
}

const fn no_options() -> OptionList {
    OptionList::Exactly(Vec::new())
}

impl TcpOption {
    /// Length of the option in the header, bytes.
    pub fn bytes(&self) -> u32 {
        match self {
            Self::Eol | Self::Nop => 1,
            Self::Mss(_) => 4,
            Self::WindowScale(_) => 3,
            Self::SackPermitted => 2,
            Self::Sack(blocks) => 2 + 8 * blocks.as_slice().len() as u32,
            Self::Timestamps(_) => 10,
            Self::Md5 => 18,
        }
    }
}
