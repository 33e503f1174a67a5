//! Instructions of a litmus test: x86-64 (operands in either order of the usual syntaxes) and AArch64.

use super::super::{Compare, FenceKind, Flush, Instruction, Isa, Location, Register, RmwKind, Test, Value};
use super::{Piece, SyntaxError, add_location};

/// Collects the threads' programs; jumps are resolved at the end.
pub(super) struct Assembler {
    isa: Isa,
    threads: Vec<Program>,
}

#[derive(Default)]
struct Program {
    instructions: Vec<Instruction>,
    registers: Vec<String>,
    values: Vec<i64>,
    /// Registers that the initial state has said something of.
    bound: Vec<usize>,
    /// Registers that hold addresses.
    pointers: Vec<(usize, Location)>,
    labels: Vec<(String, usize)>,
    /// Where a jump names a label, with the place for messages.
    jumps: Vec<(usize, String, usize, usize)>,
    /// Where barriers of stores alone stand.
    store_barriers: Vec<(usize, usize)>,
}

/// An operand as written.
#[derive(Clone, Copy, Debug)]
enum Operand {
    Value(Value),
    Memory(Location),
}

const X86: &str = "mov, movnti, xchg, lock cmpxchg, lock xadd, lock inc, clflush, clflushopt, clwb, sfence, mfence, lfence, \
                   cmp, test, je, jne, jmp, nop";
const HOSTS: &str = "mov, movnti, clflush, clwb, sfence, mfence, cmp, test, je, jne, jmp, nop";
const ARM: &str = "MOV, STR, STLR, LDR, LDAR, SWPAL, CASAL, LDADDAL, DC CVAP, DC CVAC, DSB, DMB, ISB, CMP, CBZ, CBNZ, B, \
                   B.EQ, B.NE, NOP";

impl Assembler {
    pub(super) fn new(isa: Isa) -> Assembler {
        Assembler { isa, threads: Vec::new() }
    }

    fn program(&mut self, thread: usize) -> &mut Program {
        while self.threads.len() <= thread {
            self.threads.push(Program::default());
        }
        &mut self.threads[thread]
    }

    /// A register's value at the start.
    pub(super) fn bind(
        &mut self,
        thread: usize,
        name: Piece<'_>,
        number: Option<i64>,
        location: Option<Location>,
    ) -> Result<(), SyntaxError> {
        let Some(canonical) = register_name(self.isa, name.text) else {
            return Err(name.error(format!("`{}` is no register", name.text)));
        };
        if let Some(number) = number {
            fits(self.isa, name, number).map_err(|text| name.error(text))?;
        }
        let program = self.program(thread);
        let register = program.register(&canonical);
        if program.bound.contains(&register.0) {
            return Err(name.error(format!("`{}` of P{thread} stands in the initial state twice", name.text)));
        }
        program.bound.push(register.0);
        program.values[register.0] = number.unwrap_or(0);
        if let Some(location) = location {
            program.pointers.push((register.0, location));
        }
        Ok(())
    }

    pub(super) fn threads(&mut self, count: usize, heads: Piece<'_>) -> Result<(), SyntaxError> {
        if self.threads.len() > count {
            let threads = self.threads.len() - 1;
            return Err(
                heads.error(format!("the initial state has registers of P{threads}, the program has not"))
            );
        }
        if count > 0 {
            self.program(count - 1);
        }
        Ok(())
    }

    /// One cell of the table: labels and an instruction.
    pub(super) fn line(
        &mut self,
        test: &mut Test,
        thread: usize,
        cell: Piece<'_>,
    ) -> Result<(), SyntaxError> {
        let mut cell = cell;
        while let Some((label, rest)) = cell.cut(':') {
            if label.text.is_empty() || label.text.contains(char::is_whitespace) {
                return Err(cell.error("expected `label: instruction`"));
            }
            let program = self.program(thread);
            program.labels.push((label.text.to_string(), program.instructions.len()));
            cell = rest;
        }
        if cell.text.is_empty() {
            return Ok(());
        }
        let lower = cell.text.to_ascii_lowercase();
        let length = lower.find(char::is_whitespace).unwrap_or(lower.len());
        let mut word = lower[..length].to_string();
        let mut operands = cell.part(length, cell.text.len());
        if matches!(word.as_str(), "lock" | "dc") {
            let second = operands
                .text
                .find(char::is_whitespace)
                .or(operands.text.find(','))
                .unwrap_or(operands.text.len());
            word = format!("{word} {}", operands.text[..second].trim_end_matches(',').to_ascii_lowercase());
            operands = operands.part(second, operands.text.len());
            if operands.text.starts_with(',') {
                operands = operands.part(1, operands.text.len());
            }
        }
        let operands = if operands.text.is_empty() { Vec::new() } else { operands.split(',') };
        numbers_fit(self.isa, &operands)?;
        let mut line = Line { isa: self.isa, test, program: self.program(thread), cell, operands };
        match line.isa {
            Isa::X86_64 => line.x86(&word),
            Isa::AArch64 | Isa::Release => line.arm(&word),
            Isa::Hosts => line.of_hosts(&word),
        }
    }

    /// Jumps find their labels, and the programs go into the test.
    pub(super) fn finish(&mut self, test: &mut Test) -> Result<(), SyntaxError> {
        for mut program in std::mem::take(&mut self.threads) {
            for (index, label, line, column) in std::mem::take(&mut program.jumps) {
                let Some((_, target)) = program.labels.iter().find(|(name, _)| *name == label) else {
                    return Err(SyntaxError { line, column, message: format!("no label `{label}`") });
                };
                if let Instruction::Jump(_, to) = &mut program.instructions[index] {
                    *to = *target;
                }
            }
            let loads = |i: &Instruction| matches!(i, Instruction::Read { .. } | Instruction::Rmw { .. });
            if let Some((line, column)) = program.store_barriers.first()
                && program.instructions.iter().any(loads)
            {
                let message = "a DMB of stores alone is not modelled in a thread that loads; accepted: SY, ISH, OSH, NSH or none".into();
                return Err(SyntaxError { line: *line, column: *column, message });
            }
            test.threads.push(program.instructions);
            test.registers.push(program.values);
        }
        Ok(())
    }
}

impl Program {
    fn register(&mut self, name: &str) -> Register {
        if let Some(index) = self.registers.iter().position(|r| r == name) {
            return Register(index);
        }
        self.registers.push(name.to_string());
        self.values.push(0);
        Register(self.registers.len() - 1)
    }
}

/// One name for all widths of a register.
fn register_name(isa: Isa, text: &str) -> Option<String> {
    let name = text.trim_start_matches('%').to_ascii_lowercase();
    match isa {
        Isa::X86_64 | Isa::Hosts => {
            let legacy = ["ax", "bx", "cx", "dx", "si", "di", "bp", "sp"];
            if let Some(number) = name.strip_prefix('r')
                && let digits = number.trim_end_matches(['d', 'w', 'b'])
                && digits.parse::<u8>().is_ok_and(|n| (8..16).contains(&n))
            {
                return Some(format!("r{digits}"));
            }
            let base = name.strip_prefix(['r', 'e']).unwrap_or(&name);
            legacy.contains(&base).then(|| base.to_string())
        }
        Isa::AArch64 | Isa::Release => {
            if matches!(name.as_str(), "wzr" | "xzr") {
                return Some("zero".into());
            }
            let number = name.strip_prefix(['x', 'w'])?;
            number.parse::<u8>().is_ok_and(|n| n < 31).then(|| format!("x{number}"))
        }
    }
}

/// The bits of a register by the name that it is called by.
fn width(isa: Isa, text: &str) -> u32 {
    let name = text.trim_start_matches('%').to_ascii_lowercase();
    let (first, last) = (name.chars().next(), name.chars().last());
    match isa {
        Isa::AArch64 | Isa::Release => {
            if first == Some('w') {
                32
            } else {
                64
            }
        }
        Isa::X86_64 | Isa::Hosts => match (first, last) {
            (Some('r'), Some('d')) | (Some('e'), _) => 32,
            (Some('r'), Some('w')) => 16,
            (Some('r'), Some('b')) => 8,
            (Some('r'), _) => 64,
            _ => 16,
        },
    }
}

/// Whether a register holds a number, which is kept whole.
fn fits(isa: Isa, register: Piece<'_>, number: i64) -> Result<(), String> {
    let (bits, number) = (width(isa, register.text), i128::from(number));
    if (-(1 << (bits - 1))..1 << bits).contains(&number) {
        return Ok(());
    }
    Err(format!("{number} does not fit into `{}`, which has {bits} bits", register.text))
}

/// Whether every number fits into the registers beside it.
fn numbers_fit(isa: Isa, operands: &[Piece<'_>]) -> Result<(), SyntaxError> {
    let registers = || operands.iter().filter(|piece| register_name(isa, piece.text).is_some());
    for piece in operands {
        let Some(number) = number(piece.text) else { continue };
        registers()
            .try_for_each(|register| fits(isa, *register, number))
            .map_err(|text| piece.error(text))?;
    }
    Ok(())
}

/// A number as an operand has it.
fn number(text: &str) -> Option<i64> {
    let number = text.trim_start_matches(['$', '#']);
    match number.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).ok(),
        None => number.parse().ok(),
    }
}

struct Line<'a, 'b> {
    isa: Isa,
    test: &'b mut Test,
    program: &'b mut Program,
    cell: Piece<'a>,
    operands: Vec<Piece<'a>>,
}

impl<'a> Line<'a, '_> {
    fn push(&mut self, instruction: Instruction) -> Result<(), SyntaxError> {
        self.program.instructions.push(instruction);
        Ok(())
    }

    fn count(&self, wanted: usize) -> Result<(), SyntaxError> {
        if self.operands.len() == wanted {
            return Ok(());
        }
        Err(self.cell.error(format!(
            "`{}` has {} operands here, not {wanted}",
            self.cell.text,
            self.operands.len()
        )))
    }

    /// A barrier that orders loads and stores alike. One of stores alone is the same to a thread that loads nothing, but for DSB, which then waits for no
    /// flush (Arm ARM, B2.3): that is looked at once the thread is whole.
    fn full_barrier(&mut self, word: &str) -> Result<(), SyntaxError> {
        let option = self.operands.first().map_or("sy".into(), |option| option.text.to_ascii_lowercase());
        let is_of_stores = word == "dmb" && ["st", "ishst", "oshst", "nshst"].contains(&option.as_str());
        if is_of_stores {
            self.program.store_barriers.push((self.cell.line, self.cell.column));
        }
        if is_of_stores || ["sy", "ish", "osh", "nsh"].contains(&option.as_str()) {
            return Ok(());
        }
        let of_stores =
            if word == "dmb" { ", and ST, ISHST, OSHST, NSHST in a thread without loads" } else { "" };
        Err(self.cell.error(format!(
            "`{}` orders less than all loads and stores, which is not modelled; accepted: SY, ISH, OSH, NSH or none{of_stores}",
            self.cell.text
        )))
    }

    fn operand(&mut self, index: usize) -> Result<Operand, SyntaxError> {
        let piece = self.operands[index];
        let inside = |open: char, close: char| {
            let text = piece.text.strip_prefix(open)?.strip_suffix(close)?;
            let from = piece.text.len() - text.len() - 1;
            Some(piece.part(from, from + text.len()))
        };
        if let Some(address) = inside('[', ']').or_else(|| inside('(', ')')) {
            return Ok(Operand::Memory(self.address(address)?));
        }
        if let Some(name) = register_name(self.isa, piece.text) {
            return Ok(Operand::Value(Value::Register(self.program.register(&name))));
        }
        match number(piece.text) {
            Some(n) => Ok(Operand::Value(Value::Number(n))),
            None => Err(piece.error(format!("`{}` is no register, number or [location]", piece.text))),
        }
    }

    /// A location by name, or by a register that the initial state points to it.
    fn address(&mut self, piece: Piece<'a>) -> Result<Location, SyntaxError> {
        let Some(name) = register_name(self.isa, piece.text) else { return add_location(self.test, piece) };
        let index = self.program.registers.iter().position(|r| *r == name);
        let pointer = index.and_then(|i| self.program.pointers.iter().find(|(r, _)| *r == i));
        let missing = || piece.error(format!("the initial state does not say where `{}` points", piece.text));
        pointer.map(|(_, l)| *l).ok_or_else(missing)
    }

    fn memory(&mut self, index: usize) -> Result<Location, SyntaxError> {
        match self.operand(index)? {
            Operand::Memory(location) => Ok(location),
            // `DC CVAP, X1`: the register itself is the address.
            Operand::Value(_) => self.address(self.operands[index]),
        }
    }

    fn value(&mut self, index: usize) -> Result<Value, SyntaxError> {
        match self.operand(index)? {
            Operand::Value(value) => Ok(value),
            Operand::Memory(_) => Err(self.operands[index].error("expected a register or a number")),
        }
    }

    fn into(&mut self, index: usize) -> Result<Register, SyntaxError> {
        match self.operand(index)? {
            Operand::Value(Value::Register(r)) => Ok(r),
            Operand::Value(_) | Operand::Memory(_) => Err(self.operands[index].error("expected a register")),
        }
    }

    fn jump(&mut self, when: Option<Compare>, operand: usize) -> Result<(), SyntaxError> {
        let label = self.operands[operand];
        let index = self.program.instructions.len();
        self.program.jumps.push((index, label.text.to_string(), label.line, label.column));
        self.push(Instruction::Jump(when, 0))
    }

    /// Memory and the other operand, whichever comes first; and whether memory comes first.
    fn pair(&mut self) -> Result<(Location, Value, bool), SyntaxError> {
        self.count(2)?;
        match (self.operand(0)?, self.operand(1)?) {
            (Operand::Memory(m), Operand::Value(v)) => Ok((m, v, true)),
            (Operand::Value(v), Operand::Memory(m)) => Ok((m, v, false)),
            (Operand::Memory(_), Operand::Memory(_)) | (Operand::Value(_), Operand::Value(_)) => {
                Err(self.cell.error("expected one [location] and one register or number"))
            }
        }
    }

    fn x86(&mut self, word: &str) -> Result<(), SyntaxError> {
        let bare = word.trim_end_matches(['l', 'q']);
        match bare {
            "mov" => self.mov(),
            "movnti" => {
                let (to, value, _) = self.pair()?;
                self.push(Instruction::Write { to, value, nontemporal: true })
            }
            "xchg" | "lock xchg" => self.locked(RmwKind::Exchange),
            "lock xadd" => self.locked(RmwKind::Add),
            "lock inc" => {
                self.count(1)?;
                let (at, operand) = (self.memory(0)?, Value::Number(1));
                self.push(Instruction::Rmw { at, kind: RmwKind::Add, operand, old: None })
            }
            "lock cmpxchg" => {
                let accumulator = self.program.register("ax");
                let (at, operand, _) = self.pair()?;
                let kind = RmwKind::CompareExchange { expected: Value::Register(accumulator) };
                self.push(Instruction::Rmw { at, kind, operand, old: Some(accumulator) })
            }
            "clflush" | "clflushopt" | "clwb" => {
                self.count(1)?;
                let kind = if bare == "clflush" { Flush::Ordered } else { Flush::Weak };
                let location = self.memory(0)?;
                self.push(Instruction::Flush(kind, location))
            }
            "sfence" => self.push(Instruction::Fence(FenceKind::Store)),
            "mfence" => self.push(Instruction::Fence(FenceKind::Full)),
            "lfence" | "nop" => Ok(()),
            "cmp" => {
                self.count(2)?;
                let (a, b) = (self.value(0)?, self.value(1)?);
                self.push(Instruction::Compare(a, b))
            }
            "test" => {
                self.count(2)?;
                let (a, b) = (self.value(0)?, self.value(1)?);
                if a != b {
                    return Err(self.cell.error("test is accepted with the same register twice"));
                }
                self.push(Instruction::Compare(a, Value::Number(0)))
            }
            "je" | "jz" | "jne" | "jnz" | "jmp" => {
                self.count(1)?;
                let when = match bare {
                    "je" | "jz" => Some(Compare::Equal),
                    "jne" | "jnz" => Some(Compare::NotEqual),
                    _ => None,
                };
                self.jump(when, 0)
            }
            _ => Err(self.cell.error(format!("unknown instruction `{word}`; accepted: {X86}"))),
        }
    }

    /// Store, load or move. With a number first, or `$` and `%`, the source comes first.
    fn mov(&mut self) -> Result<(), SyntaxError> {
        self.count(2)?;
        let source_first = self.operands[0].text.starts_with(['$', '%'])
            && !self.operands[1].text.starts_with('$')
            || self.operands.iter().any(|o| o.text.starts_with('%') || o.text.starts_with('('));
        let (to, from) = if source_first { (1, 0) } else { (0, 1) };
        match (self.operand(to)?, self.operand(from)?) {
            (Operand::Memory(to), Operand::Value(value)) => {
                self.push(Instruction::Write { to, value, nontemporal: false })
            }
            (Operand::Value(Value::Register(into)), Operand::Memory(from)) => {
                self.push(Instruction::Read { into, from })
            }
            (Operand::Value(Value::Register(into)), Operand::Value(value)) => {
                self.push(Instruction::Set(into, value))
            }
            (Operand::Memory(_), Operand::Memory(_)) | (Operand::Value(Value::Number(_)), _) => {
                Err(self.cell.error("expected a register or one [location] as the destination"))
            }
        }
    }

    fn locked(&mut self, kind: RmwKind) -> Result<(), SyntaxError> {
        let (at, operand, _) = self.pair()?;
        let old = match operand {
            Value::Register(r) => Some(r),
            Value::Number(_) => None,
        };
        self.push(Instruction::Rmw { at, kind, operand, old })
    }

    /// What hosts have: no atomic operations between them, and the two flushes that differ.
    fn of_hosts(&mut self, word: &str) -> Result<(), SyntaxError> {
        let bare = word.trim_end_matches(['l', 'q']);
        if HOSTS.split(", ").chain(["jz", "jnz"]).any(|known| known == bare) {
            return self.x86(word);
        }
        Err(self.cell.error(format!("`{word}` is no instruction of hosts; accepted: {HOSTS}")))
    }

    fn arm(&mut self, word: &str) -> Result<(), SyntaxError> {
        match word {
            "mov" => {
                self.count(2)?;
                let (into, value) = (self.into(0)?, self.value(1)?);
                self.push(Instruction::Set(into, value))
            }
            "str" | "stlr" => {
                self.count(2)?;
                let (value, to) = (self.value(0)?, self.memory(1)?);
                // A release: what comes before is visible before it.
                self.push(Instruction::Write { to, value, nontemporal: word == "stlr" })
            }
            "ldr" => {
                self.count(2)?;
                let (into, from) = (self.into(0)?, self.memory(1)?);
                self.push(Instruction::Read { into, from })
            }
            "ldar" => {
                self.count(2)?;
                let (into, at) = (self.into(0)?, self.memory(1)?);
                // An acquire that never writes.
                let kind = RmwKind::CompareExchange { expected: Value::Number(i64::MIN) };
                self.push(Instruction::Rmw { at, kind, operand: Value::Number(0), old: Some(into) })
            }
            "swpal" | "ldaddal" | "casal" => {
                self.count(3)?;
                let (first, second, at) = (self.value(0)?, self.into(1)?, self.memory(2)?);
                let (kind, operand, old) = match word {
                    "swpal" => (RmwKind::Exchange, first, second),
                    "ldaddal" => (RmwKind::Add, first, second),
                    _ => {
                        let old = self.into(0)?;
                        (RmwKind::CompareExchange { expected: first }, Value::Register(second), old)
                    }
                };
                self.push(Instruction::Rmw { at, kind, operand, old: Some(old) })
            }
            "dc cvap" | "dc cvac" => {
                self.count(1)?;
                let location = self.memory(0)?;
                // To the point of coherence only: nothing persists.
                if word == "dc cvac" { Ok(()) } else { self.push(Instruction::Flush(Flush::Weak, location)) }
            }
            "dsb" => {
                self.full_barrier(word)?;
                self.push(Instruction::Fence(FenceKind::Full))
            }
            "dmb" => {
                self.full_barrier(word)?;
                self.push(Instruction::Fence(FenceKind::Memory))
            }
            "isb" | "nop" => Ok(()),
            "cmp" => {
                self.count(2)?;
                let (a, b) = (self.value(0)?, self.value(1)?);
                self.push(Instruction::Compare(a, b))
            }
            "cbz" | "cbnz" => {
                self.count(2)?;
                let value = self.value(0)?;
                self.push(Instruction::Compare(value, Value::Number(0)))?;
                self.jump(Some(if word == "cbz" { Compare::Equal } else { Compare::NotEqual }), 1)
            }
            "b" | "b.eq" | "b.ne" => {
                self.count(1)?;
                let when = match word {
                    "b.eq" => Some(Compare::Equal),
                    "b.ne" => Some(Compare::NotEqual),
                    _ => None,
                };
                self.jump(when, 0)
            }
            _ => Err(self.cell.error(format!("unknown instruction `{word}`; accepted: {ARM}"))),
        }
    }
}
