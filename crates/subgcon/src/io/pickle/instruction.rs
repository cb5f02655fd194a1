//! What is an instruction called that is not followed?

/// An instruction by its name in Python's pickletools, where it has one.
pub(super) fn instruction(opcode: u8) -> String {
    const NAMES: [(u8, &str); 34] = [
        (b'0', "POP"),
        (b'1', "POP_MARK"),
        (b'2', "DUP"),
        (b'F', "FLOAT"),
        (b'G', "BINFLOAT"),
        (b'I', "INT"),
        (b'L', "LONG"),
        (b'P', "PERSID"),
        (b'Q', "BINPERSID"),
        (b'S', "STRING"),
        (b'V', "UNICODE"),
        (b'd', "DICT"),
        (b'g', "GET"),
        (b'i', "INST"),
        (b'l', "LIST"),
        (b'o', "OBJ"),
        (b'p', "PUT"),
        (0x82, "EXT1"),
        (0x83, "EXT2"),
        (0x84, "EXT4"),
        (0x8b, "LONG4"),
        (0x8c, "SHORT_BINUNICODE"),
        (0x8d, "BINUNICODE8"),
        (0x8e, "BINBYTES8"),
        (0x8f, "EMPTY_SET"),
        (0x90, "ADDITEMS"),
        (0x91, "FROZENSET"),
        (0x92, "NEWOBJ_EX"),
        (0x93, "STACK_GLOBAL"),
        (0x94, "MEMOIZE"),
        (0x95, "FRAME"),
        (0x96, "BYTEARRAY8"),
        (0x97, "NEXT_BUFFER"),
        (0x98, "READONLY_BUFFER"),
    ];
    match NAMES.iter().find(|&&(code, _)| code == opcode) {
        Some((_, name)) => format!("{name} ({opcode:#04x})"),
        None => format!("{opcode:#04x}, which no pickle has"),
    }
}
