//! Writing captures as pcapng files, for Wireshark and similar tools.
//!
//! The link type is raw IPv4, with one interface per captured place. Timestamps are nanoseconds
//! since the start of the run, which programs show as 1970-01-01 00:00:00 UTC. The comment of each
//! packet states its fate, for example `delivered at 1.204500000 s; flow download` or `dropped by
//! channel at cloud forward; retransmission, necessary; flow download`. Headers are complete, and
//! checksums are those of the whole packet, even if its payload is truncated.

use crate::capture::{CaptureBuffer, PointId};
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::pcapng::{PcapNgBlock, PcapNgWriter};
use pcap_file::{DataLink, Endianness, PcapError};
use retx_wire::{IPV4_HEADER_BYTES, TCP_HEADER_BYTES, TCP_OPTIONS_MAX_BYTES, encode_packet};
use std::borrow::Cow;
use std::io::{self, Write};

/// Minimum snap length: the length of the longest headers, bytes.
pub const SNAP_MIN_BYTES: u32 = IPV4_HEADER_BYTES + TCP_HEADER_BYTES + TCP_OPTIONS_MAX_BYTES;

/// Maximum length of a text in a pcapng option, bytes.
const OPTION_MAX_BYTES: usize = u16::MAX as usize;

/// Snap length: the part of each packet that is written to the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapLength {
    /// Number of bytes from the start of the IPv4 header, at least [`SNAP_MIN_BYTES`].
    Bytes(u32),
    /// The whole packet.
    Full,
}

impl Default for SnapLength {
    /// Snap length that keeps the usual headers and the start of the payload.
    fn default() -> Self {
        Self::Bytes(96)
    }
}

/// Metadata of a capture file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureMetadata {
    application: String,
    comment: String,
    snap: SnapLength,
}

/// Error: metadata that a capture file cannot hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CaptureMetadataError {
    /// A snap length that would truncate headers.
    #[error(
        "a snap length of {bytes} bytes would cut headers off; \
         take at least {SNAP_MIN_BYTES} bytes, or all of each packet"
    )]
    Snap {
        /// Snap length, bytes.
        bytes: u32,
    },
    /// A text longer than a pcapng option.
    #[error("a text of {bytes} bytes is too long for a capture file; at most {OPTION_MAX_BYTES}")]
    Text {
        /// Length of the text, bytes.
        bytes: usize,
    },
}

impl CaptureMetadata {
    /// Creates metadata from `application`, the name and version of the program, and `comment`,
    /// which identifies the run.
    ///
    /// # Errors
    /// Metadata that cannot be written.
    pub fn new(
        application: &str,
        comment: &str,
        snap: SnapLength,
    ) -> Result<Self, CaptureMetadataError> {
        if let SnapLength::Bytes(bytes) = snap
            && bytes < SNAP_MIN_BYTES
        {
            return Err(CaptureMetadataError::Snap { bytes });
        }
        for text in [application, comment] {
            if text.len() > OPTION_MAX_BYTES {
                return Err(CaptureMetadataError::Text { bytes: text.len() });
            }
        }
        Ok(Self { application: application.to_owned(), comment: comment.to_owned(), snap })
    }
}

/// Writes a capture in order of time. The bytes written depend only on the capture and on `about`.
///
/// # Errors
/// The error of the writer.
pub fn write(
    capture: &CaptureBuffer,
    about: &CaptureMetadata,
    writer: impl Write,
) -> io::Result<()> {
    let snap_bytes = match about.snap {
        SnapLength::Bytes(bytes) => bytes,
        // Maximum length of an IPv4 packet.
        SnapLength::Full => u32::from(u16::MAX),
    };
    let mut file = PcapNgWriter::with_section_header(writer, section(about)).map_err(to_io)?;
    let mut interfaces = Interfaces::default();
    for (index, place) in capture.observation_points().iter().enumerate() {
        if place.is_interface {
            let name = Cow::Borrowed(place.name.as_str());
            put(&mut file, interface(name, snap_bytes))?;
            interfaces.add(index);
        }
    }
    let mut bytes = Vec::new();
    for sighting in capture.sightings_by_time() {
        bytes.clear();
        let id = sighting.packet;
        let mut fill = |payload: &mut [u8]| capture.fill_payload(id, payload);
        encode_packet(&capture.packet_headers(id, sighting.ecn), &mut fill, &mut bytes);
        let block = EnhancedPacketBlock {
            interface_id: interfaces.number(sighting.place),
            timestamp: core::time::Duration::from_nanos(sighting.time.as_nanos()),
            original_len: bytes.len() as u32,
            data: Cow::Borrowed(&bytes[..bytes.len().min(snap_bytes as usize)]),
            options: vec![EnhancedPacketOption::Comment(Cow::Owned(capture.packet_comment(id)))],
        };
        put(&mut file, block)?;
    }
    file.get_mut().flush()
}

/// Numbers of the interfaces in the file, by place; `None` for a place that is no interface.
#[derive(Default)]
struct Interfaces {
    numbers: Vec<Option<u32>>,
    count: u32,
}

impl Interfaces {
    fn add(&mut self, place: usize) {
        self.numbers.resize(place, None);
        self.numbers.push(Some(self.count));
        self.count += 1;
    }

    fn number(&self, place: PointId) -> u32 {
        self.numbers[place.index()].expect("packets are seen at interfaces alone")
    }
}

fn section(about: &CaptureMetadata) -> SectionHeaderBlock<'static> {
    let mut options = vec![SectionHeaderOption::UserApplication(about.application.clone().into())];
    if !about.comment.is_empty() {
        options.push(SectionHeaderOption::Comment(about.comment.clone().into()));
    }
    // The byte order is fixed, so that the file is the same on every machine.
    SectionHeaderBlock { endianness: Endianness::Little, options, ..Default::default() }
}

fn interface(name: Cow<'_, str>, snap_bytes: u32) -> InterfaceDescriptionBlock<'_> {
    InterfaceDescriptionBlock {
        linktype: DataLink::RAW,
        snaplen: snap_bytes,
        options: vec![
            InterfaceDescriptionOption::IfName(name),
            // Unit of the timestamps: 10⁻⁹ s.
            InterfaceDescriptionOption::IfTsResol(9),
        ],
    }
}

fn put<'a, W: Write>(file: &mut PcapNgWriter<W>, block: impl PcapNgBlock<'a>) -> io::Result<()> {
    file.write_pcapng_block(block).map(drop).map_err(to_io)
}

fn to_io(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}
