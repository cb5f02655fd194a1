//! Checks the claims of an Arrow file before its reader believes them.
//!
//! An Arrow file ends with a footer that says where each record batch lies, and
//! each batch begins with a message that says where its buffers are and, where
//! they are compressed, how long they will be. The reader makes room for what
//! is claimed; here every claim is held against the bytes that are there.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use arrow_ipc::{Block, root_as_footer, root_as_message};

const MAGIC: &[u8; 6] = b"ARROW1";

/// A packed byte unpacks to at most this many: 255 is what LZ4 can do, and long
/// runs of one value are what ZSTD can do.
const MOST_UNPACKED: u64 = 1 << 15;

/// The first claim that cannot be true.
pub(crate) fn check(file: &mut File) -> Result<(), String> {
    let read = |file: &mut File, start: u64, bytes: usize| -> Result<Vec<u8>, String> {
        let mut buffer = vec![0; bytes];
        file.seek(SeekFrom::Start(start)).map_err(|e| e.to_string())?;
        file.read_exact(&mut buffer).map_err(|e| e.to_string())?;
        Ok(buffer)
    };
    let length = file.metadata().map_err(|e| e.to_string())?.len();
    if length < 24 || read(file, 0, 6)? != MAGIC {
        return Err("it is no Arrow file".into());
    }
    let end = read(file, length - 10, 10)?;
    if &end[4..] != MAGIC {
        return Err("its end is missing".into());
    }
    let footer_length = i32::from_le_bytes([end[0], end[1], end[2], end[3]]);
    let footer_length = u64::try_from(footer_length).ok().filter(|&bytes| bytes <= length - 10);
    let footer_length = footer_length.ok_or("its footer is longer than the file")?;
    let footer = read(file, length - 10 - footer_length, footer_length as usize)?;
    let footer = root_as_footer(&footer).map_err(|error| error.to_string())?;
    let blocks = footer.recordBatches().into_iter().chain(footer.dictionaries());
    for block in blocks.flatten() {
        let (start, metadata, body) = extent(block, length).ok_or("a batch lies outside it")?;
        let message = read(file, start, metadata)?;
        check_message(&message, |at, bytes| {
            let place = start + metadata as u64;
            if at.checked_add(bytes).is_none_or(|end| end > body) {
                return Err("a buffer lies outside its batch".to_owned());
            }
            let start = read(file, place + at, bytes.min(8) as usize)?;
            Ok(start.try_into().ok().map(i64::from_le_bytes))
        })?;
    }
    Ok(())
}

/// Where a block starts, how long its message is and how long its body.
fn extent(block: &Block, length: u64) -> Option<(u64, usize, u64)> {
    let start = u64::try_from(block.offset()).ok()?;
    let metadata = u64::try_from(block.metaDataLength()).ok()?;
    let body = u64::try_from(block.bodyLength()).ok()?;
    let end = start.checked_add(metadata)?.checked_add(body)?;
    (end <= length).then_some((start, metadata as usize, body))
}

/// Checks the buffers of one message. `peek` answers the first eight bytes of a
/// buffer, or an error where it is not inside the body.
fn check_message(
    bytes: &[u8],
    mut peek: impl FnMut(u64, u64) -> Result<Option<i64>, String>,
) -> Result<(), String> {
    // A marker (in newer files) and the length stand before the message.
    let skip = if bytes.starts_with(&[0xff; 4]) { 8 } else { 4 };
    let message = root_as_message(bytes.get(skip..).unwrap_or_default());
    let message = message.map_err(|error| error.to_string())?;
    let dictionary = message.header_as_dictionary_batch().and_then(|batch| batch.data());
    let Some(batch) = message.header_as_record_batch().or(dictionary) else {
        return Err("a block holds no batch".into());
    };
    let packed = batch.compression().is_some();
    for buffer in batch.buffers().into_iter().flatten() {
        let (at, bytes) = (u64::try_from(buffer.offset()), u64::try_from(buffer.length()));
        let (Ok(at), Ok(bytes)) = (at, bytes) else {
            return Err("a buffer has a negative place".into());
        };
        // Unpacked length, -1 where the bytes are as they are.
        let unpacked = peek(at, bytes)?.filter(|&unpacked| packed && unpacked != -1);
        let most = bytes.saturating_mul(MOST_UNPACKED);
        if unpacked.is_some_and(|unpacked| u64::try_from(unpacked).is_ok_and(|u| u <= most)) {
            continue;
        }
        if unpacked.is_some() {
            return Err("a buffer claims to unpack to more than it can".into());
        }
    }
    let rows = batch.length();
    let nodes = batch.nodes().into_iter().flatten();
    // Lists may hold more values than rows, but not without bytes behind them.
    if rows < 0 || nodes.into_iter().any(|node| node.length() < 0 || node.null_count() < 0) {
        return Err("a batch has a negative number of rows".into());
    }
    Ok(())
}
