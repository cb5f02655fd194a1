//! What is in a Python pickle, without running it?
//!
//! A pickle is a program for a small stack machine. This reader knows only the
//! instructions that plain numbers, texts, tuples, lists, dictionaries, NumPy
//! arrays and SciPy CSR matrices need, and refuses every other instruction and
//! every other global by name. Nothing is ever called: an array is a record of
//! what the pickle says about it, looked at later (see `view`).
//!
//! Objects lie in one list and refer to each other by their place in it, and
//! byte strings are ranges of the file. So neither building nor dropping
//! recurses, however deep the nesting, and memory is bounded by the length of
//! the file: each instruction makes at most one object, and no length that a
//! pickle claims is ever allocated.

mod instruction;
mod view;

use std::path::{Path, PathBuf};

use hashbrown::HashMap;

use crate::error::{Error, Place, Result, shown};
use instruction::instruction;

const REMEDY: &str = "only pickles of plain NumPy arrays, CSR matrices and dictionaries of lists \
                      are read; fetch the original file or save it in another format";

/// A value: small, copied freely; what is large lies in the list of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value {
    /// Python's None.
    None,
    /// True or False.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A text or byte string: from and to where in the file.
    Bytes(usize, usize),
    /// A name from the list of those that are known.
    Global(Global),
    /// A place in the list of objects.
    Object(usize),
}

/// The globals that may occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Global {
    /// `scipy.sparse.csr csr_matrix`
    CsrMatrix,
    /// `numpy.core.multiarray _reconstruct`
    Reconstruct,
    /// `numpy ndarray`
    NdArray,
    /// `numpy dtype`
    Dtype,
    /// `collections defaultdict`
    DefaultDict,
    /// `__builtin__ list`
    List,
}

const GLOBALS: [(&str, &str, Global); 9] = [
    ("scipy.sparse.csr", "csr_matrix", Global::CsrMatrix),
    ("scipy.sparse._csr", "csr_matrix", Global::CsrMatrix),
    ("numpy.core.multiarray", "_reconstruct", Global::Reconstruct),
    ("numpy._core.multiarray", "_reconstruct", Global::Reconstruct),
    ("numpy", "ndarray", Global::NdArray),
    ("numpy", "dtype", Global::Dtype),
    ("collections", "defaultdict", Global::DefaultDict),
    ("__builtin__", "list", Global::List),
    ("builtins", "list", Global::List),
];

/// What has parts.
#[derive(Debug)]
pub(crate) enum Object {
    Tuple(Vec<Value>),
    List(Vec<Value>),
    Dict(Vec<(Value, Value)>),
    /// What was made of a known class; its state once BUILD has given one.
    Made {
        class: Global,
        arguments: Value,
        state: Option<Value>,
    },
}

/// A pickle that has been read to its end.
#[derive(Debug)]
pub(crate) struct Pickle {
    path: PathBuf,
    bytes: Vec<u8>,
    objects: Vec<Object>,
    root: Value,
}

impl Pickle {
    /// Reads a file.
    pub(crate) fn open(path: &Path) -> Result<Pickle> {
        let bytes = std::fs::read(path).map_err(Error::io("read", path))?;
        Pickle::parse(path, bytes)
    }

    /// Reads the bytes of the file `path`.
    pub(crate) fn parse(path: &Path, bytes: Vec<u8>) -> Result<Pickle> {
        let mut machine = Machine {
            bytes: &bytes,
            at: 0,
            objects: Vec::new(),
            stack: Vec::new(),
            marks: Vec::new(),
            memo: HashMap::new(),
        };
        let root = machine.run().map_err(|fault| {
            Error::input(Place::byte(path, fault.at as u64), fault.problem, REMEDY)
        })?;
        let objects = machine.objects;
        Ok(Pickle { path: path.to_path_buf(), bytes, objects, root })
    }
}

/// What is wrong, and the offset of the instruction.
struct Fault {
    at: usize,
    problem: String,
}

struct Machine<'a> {
    bytes: &'a [u8],
    at: usize,
    objects: Vec<Object>,
    stack: Vec<Value>,
    /// Heights of the stack at the open marks.
    marks: Vec<usize>,
    memo: HashMap<u32, Value>,
}

type Step<T> = Result<T, String>;

impl Machine<'_> {
    fn run(&mut self) -> Result<Value, Fault> {
        loop {
            let at = self.at;
            match self.step() {
                Ok(None) => {}
                Ok(Some(root)) => return Ok(root),
                Err(problem) => return Err(Fault { at, problem }),
            }
        }
    }

    /// One instruction; the result of the program when it stops.
    fn step(&mut self) -> Step<Option<Value>> {
        let first = self.at == 0;
        let opcode = self.take(1)?[0];
        if first && opcode != 0x80 {
            return Err(format!(
                "begins with byte {opcode:#04x}, so it is no pickle of protocol 2"
            ));
        }
        match opcode {
            0x80 => match self.take(1)?[0] {
                2 | 3 => {}
                protocol => {
                    return Err(format!(
                        "is a pickle of protocol {protocol}; protocols 2 and 3 are read"
                    ));
                }
            },
            b'.' => {
                let root = self.pop()?;
                if self.at != self.bytes.len() {
                    return Err("goes on after the end of the pickle".into());
                }
                return Ok(Some(root));
            }
            b'(' => self.marks.push(self.stack.len()),
            b'N' => self.stack.push(Value::None),
            0x88 => self.stack.push(Value::Bool(true)),
            0x89 => self.stack.push(Value::Bool(false)),
            b'J' => {
                let value = self.u32()? as i32;
                self.stack.push(Value::Int(value.into()));
            }
            b'K' => {
                let value = self.u8()?;
                self.stack.push(Value::Int(value.into()));
            }
            b'M' => {
                let bytes = self.take(2)?;
                let value = u16::from_le_bytes([bytes[0], bytes[1]]);
                self.stack.push(Value::Int(value.into()));
            }
            0x8a => self.long1()?,
            // BINSTRING has a signed length, SHORT_BINSTRING an unsigned byte.
            b'T' => {
                let length = self.u32()?;
                let length = usize::try_from(length as i32)
                    .map_err(|_| format!("claims a text of {} bytes", length as i32))?;
                self.text(length)?;
            }
            b'X' | b'B' => {
                let length = self.u32()? as usize;
                self.text(length)?;
            }
            b'U' | b'C' => {
                let length = self.u8()?;
                self.text(length.into())?;
            }
            b'c' => {
                let (module, name) = (self.line()?, self.line()?);
                let known = GLOBALS.iter().find(|known| (known.0, known.1) == (&module, &name));
                let Some(&(.., global)) = known else {
                    return Err(format!("names the global {}", shown(&format!("{module} {name}"))));
                };
                self.stack.push(Value::Global(global));
            }
            b')' => self.make(Object::Tuple(Vec::new())),
            0x85..=0x87 => {
                let parts = self.pop_many(usize::from(opcode - 0x84))?;
                self.make(Object::Tuple(parts));
            }
            b't' => {
                let parts = self.pop_to_mark()?;
                self.make(Object::Tuple(parts));
            }
            b']' => self.make(Object::List(Vec::new())),
            b'}' => self.make(Object::Dict(Vec::new())),
            b'a' => {
                let item = self.pop_many(1)?;
                self.append(item)?;
            }
            b'e' => {
                let items = self.pop_to_mark()?;
                self.append(items)?;
            }
            b's' => {
                let pair = self.pop_many(2)?;
                self.set_items(pair)?;
            }
            b'u' => {
                let pairs = self.pop_to_mark()?;
                self.set_items(pairs)?;
            }
            b'R' => self.reduce()?,
            0x81 => self.new_object()?,
            b'b' => self.build()?,
            b'q' => {
                let key = self.u8()?;
                self.put(key.into())?;
            }
            b'r' => {
                let key = self.u32()?;
                self.put(key)?;
            }
            b'h' => {
                let key = self.u8()?;
                self.get(key.into())?;
            }
            b'j' => {
                let key = self.u32()?;
                self.get(key)?;
            }
            _ => return Err(format!("has the instruction {}", instruction(opcode))),
        }
        Ok(None)
    }

    fn take(&mut self, length: usize) -> Step<&[u8]> {
        let end = self.at.checked_add(length).filter(|&end| end <= self.bytes.len());
        let end = end.ok_or("ends in the middle; it is cut short")?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn u8(&mut self) -> Step<u8> {
        Ok(self.take(1)?[0])
    }

    fn u32(&mut self) -> Step<u32> {
        let bytes = self.take(4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// A name up to a line feed.
    fn line(&mut self) -> Step<String> {
        let rest = &self.bytes[self.at..];
        let length = memchr::memchr(b'\n', rest).ok_or("has a global without end")?;
        let text = String::from_utf8_lossy(&rest[..length]).into_owned();
        self.at += length + 1;
        Ok(text)
    }

    fn text(&mut self, length: usize) -> Step<()> {
        let left = self.bytes.len() - self.at;
        if length > left {
            return Err(format!("claims a text of {length} bytes but only {left} are left"));
        }
        self.stack.push(Value::Bytes(self.at, self.at + length));
        self.at += length;
        Ok(())
    }

    /// A signed little-endian integer with its own length.
    fn long1(&mut self) -> Step<()> {
        let length = usize::from(self.u8()?);
        let bytes = self.take(length)?;
        if length > 8 {
            return Err(format!("has an integer of {length} bytes; at most 8 are read"));
        }
        let fill = if bytes.last().is_some_and(|&top| top >= 0x80) { 0xff } else { 0 };
        let mut wide = [fill; 8];
        wide[..length].copy_from_slice(bytes);
        self.stack.push(Value::Int(i64::from_le_bytes(wide)));
        Ok(())
    }

    /// How far down the stack may be taken: values below an open mark are not reachable.
    fn floor(&self) -> usize {
        self.marks.last().copied().unwrap_or(0)
    }

    fn pop(&mut self) -> Step<Value> {
        match self.stack.len() > self.floor() {
            true => self.stack.pop().ok_or_else(|| "takes from an empty stack".to_owned()),
            false => Err("takes from an empty stack".into()),
        }
    }

    fn pop_many(&mut self, count: usize) -> Step<Vec<Value>> {
        let start = self.stack.len().checked_sub(count).filter(|&start| start >= self.floor());
        Ok(self.stack.split_off(start.ok_or("takes from an empty stack")?))
    }

    fn pop_to_mark(&mut self) -> Step<Vec<Value>> {
        let mark = self.marks.pop().ok_or("closes a mark that was never set")?;
        Ok(self.stack.split_off(mark))
    }

    /// The object on top of the stack.
    fn top(&mut self) -> Step<&mut Object> {
        match self.stack.last() {
            Some(&Value::Object(index)) if self.stack.len() > self.floor() => {
                Ok(&mut self.objects[index])
            }
            _ => Err("adds to something that has no parts".into()),
        }
    }

    fn make(&mut self, object: Object) {
        self.stack.push(Value::Object(self.objects.len()));
        self.objects.push(object);
    }

    fn append(&mut self, items: Vec<Value>) -> Step<()> {
        match self.top()? {
            Object::List(list) => list.extend(items),
            _ => return Err("appends to something that is not a list".into()),
        }
        Ok(())
    }

    fn set_items(&mut self, pairs: Vec<Value>) -> Step<()> {
        if !pairs.len().is_multiple_of(2) {
            return Err("has a dictionary with a key but no value".into());
        }
        let Object::Dict(dict) = self.top()? else {
            return Err("sets items of something that is not a dictionary".into());
        };
        let mut pairs = pairs.into_iter();
        while let (Some(key), Some(value)) = (pairs.next(), pairs.next()) {
            dict.push((key, value));
        }
        Ok(())
    }

    /// A call in Python; here only a note of what would be made.
    fn reduce(&mut self) -> Step<()> {
        let parts = self.pop_many(2)?;
        let (Value::Global(class), Value::Object(index)) = (&parts[0], &parts[1]) else {
            return Err("calls something that is not a known global".into());
        };
        let Object::Tuple(arguments) = &self.objects[*index] else {
            return Err("calls a global without a tuple of arguments".into());
        };
        match (class, &arguments[..]) {
            (Global::DefaultDict, [Value::Global(Global::List)]) => {
                self.make(Object::Dict(Vec::new()));
            }
            (Global::Reconstruct, [Value::Global(Global::NdArray), ..]) => {
                let arguments = parts[1];
                self.make(Object::Made { class: Global::NdArray, arguments, state: None });
            }
            (Global::Dtype, [Value::Bytes(..), ..]) => {
                let arguments = parts[1];
                self.make(Object::Made { class: Global::Dtype, arguments, state: None });
            }
            _ => return Err(format!("calls {class:?} in a way that is not known")),
        }
        Ok(())
    }

    fn new_object(&mut self) -> Step<()> {
        let parts = self.pop_many(2)?;
        if parts[0] != Value::Global(Global::CsrMatrix) {
            return Err("makes an object of something that is not csr_matrix".into());
        }
        let arguments = parts[1];
        self.make(Object::Made { class: Global::CsrMatrix, arguments, state: None });
        Ok(())
    }

    fn build(&mut self) -> Step<()> {
        let given = self.pop()?;
        match self.top()? {
            Object::Made { state: state @ None, .. } => *state = Some(given),
            _ => return Err("gives a state to something that takes none".into()),
        }
        Ok(())
    }

    fn put(&mut self, key: u32) -> Step<()> {
        if self.stack.len() <= self.floor() {
            return Err("remembers the top of an empty stack".into());
        }
        if let Some(value) = self.stack.last() {
            self.memo.insert(key, *value);
        }
        Ok(())
    }

    fn get(&mut self, key: u32) -> Step<()> {
        let value = self.memo.get(&key).copied();
        self.stack.push(value.ok_or_else(|| format!("recalls {key}, which was never remembered"))?);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
