/**
 * Binary description of pattern nodes as assembly/pattern/ reads it; operands are those of the batch that the node
 * reads. It is ready when this is imported.
 */
import {
  LookKind,
  PatternFlag,
  PatternOp,
  PatternRows,
  PatternSkip,
  patternAggregate,
  patternLook,
  patternProgram,
  patternSpec,
  patternStep,
  patternVariable,
  Tag,
} from '../../gen/layouts.js';
import { put } from '../../memory/layout.js';
import { NONE, type NodePlan, type Operand, type Program } from '../../plan/ir.js';
import { encodeProgram } from '../../plan/program.js';
import { columnsRead } from '../join.js';
import { type LookPlan, setPatternSpec } from '../pattern.js';
import { encodeGroup } from '../window.js';

/** Number of the program of the first condition on the match. */
const firstCondition = 3;

type PatternNode = Extract<NodePlan, { kind: 'pattern' }>;

/** Bits of variables. */
const bitsOf = (variables: readonly number[]): bigint => variables.reduce((bits, v) => bits | (1n << BigInt(v)), 0n);

const emptyTags = { null: Tag.null, zero: Tag.i64, list: Tag.array } as const;

/** Fields of the head of a spec. */
type Head = Parameters<typeof put<typeof patternSpec.at, typeof patternSpec.types>>[3];

const utf8 = new TextEncoder();

/** Pieces of a spec behind its head. */
class Pieces {
  #end: number = patternSpec.size;
  readonly #pieces: { at: number; bytes: Uint8Array }[] = [];

  add(bytes: Uint8Array, align = 8): number {
    const at = Math.ceil(this.#end / align) * align;
    this.#pieces.push({ at, bytes });
    this.#end = at + bytes.length;
    return at;
  }

  numbers(list: readonly number[]): number {
    const bytes = new Uint8Array(2 * list.length);
    const view = new DataView(bytes.buffer);
    list.forEach((value, i) => {
      view.setUint16(2 * i, value, true);
    });
    return this.add(bytes);
  }

  structs(size: number, count: number, write: (view: DataView, at: number, i: number) => void): number {
    const bytes = new Uint8Array(size * count);
    const view = new DataView(bytes.buffer);
    for (let i = 0; i < count; i++) write(view, i * size, i);
    return this.add(bytes);
  }

  finish(head: Head): Uint8Array {
    const bytes = new Uint8Array((this.#end + 15) & ~15);
    put(new DataView(bytes.buffer), 0, patternSpec, head);
    for (const piece of this.#pieces) bytes.set(piece.bytes, piece.at);
    return bytes;
  }
}

function encodePattern(plan: PatternNode): Uint8Array {
  const pieces = new Pieces();
  const { keys, columns, steps, looks, measures, rowConditions, aheadConditions, conditions, skip } = plan;
  const programOf = (program: Program | null, operands: readonly Operand[]) => {
    const code = encodeProgram(program ?? { ops: [], consts: [] });
    const read = new Set(operands.flatMap((operand) => columnsRead(null, operand)));
    for (const column of columnsRead(program, null)) read.add(column);
    const reads = [...read].sort((a, b) => a - b);
    return { code: pieces.add(code, 16), codeLen: code.length, reads: reads.length, readsAt: pieces.numbers(reads) };
  };
  const ofRows = [rowConditions, aheadConditions];
  const programs = [
    ...ofRows.map(({ program, of }) =>
      programOf(
        program,
        of.map(({ operand }) => operand),
      ),
    ),
    programOf(measures.program, measures.outputs),
    ...conditions.map(({ program, operand }) => programOf(program, [operand])),
    ...plan.aggregates.map(({ program, args, filter }) =>
      programOf(program, filter === null ? args : [...args, filter]),
    ),
  ];
  const variables = variablesOf(plan, pieces);
  const shifts = rowShifts(plan);
  const aggregates = plan.aggregates.map(({ fn, args, filter, call, empty }, i) => {
    const specAt = pieces.add(encodeGroup(fn, args, filter, call));
    return { specAt, program: firstCondition + conditions.length + i, empty: emptyTags[empty] };
  });
  const looksAtMatch = conditions.length > 0;
  return pieces.finish({
    ...{ keys: keys.length, keysAt: pieces.numbers(keys), columns: columns.length, columnsAt: pieces.numbers(columns) },
    steps: steps.length,
    stepsAt: pieces.structs(patternStep.size, steps.length, (view, at, i) => {
      const { op, a = 0, b = 0 } = steps[i]!;
      put(view, at, patternStep, { op: PatternOp[op], a, b });
    }),
    variables: variables.length,
    variablesAt: pieces.structs(patternVariable.size, variables.length, (view, at, i) => {
      put(view, at, patternVariable, variables[i]!);
    }),
    looks: looks.length,
    looksAt: pieces.structs(patternLook.size, looks.length, (view, at, i) => {
      put(view, at, patternLook, lookOf(looks[i]!));
    }),
    programs: programs.length,
    programsAt: pieces.structs(patternProgram.size, programs.length, (view, at, i) => {
      put(view, at, patternProgram, programs[i]!);
    }),
    ...{ outputs: measures.outputs.length, outputsAt: pieces.numbers(measures.outputs) },
    aggregates: aggregates.length,
    aggregatesAt: pieces.structs(patternAggregate.size, aggregates.length, (view, at, i) => {
      put(view, at, patternAggregate, aggregates[i]!);
    }),
    rows: PatternRows[plan.rows],
    skip: PatternSkip[skip.to],
    flags:
      (plan.isEventTime ? PatternFlag.eventTime : 0) |
      (looksAtMatch ? PatternFlag.looksAtMatch : 0) |
      (plan.dropsOldest ? PatternFlag.dropsOldest : 0) |
      (aheadConditions.of.length > 0 ? PatternFlag.asksAhead : 0),
    ...shifts,
    most: plan.mostPartial,
    skipTo: bitsOf(skip.variables),
    first: plan.first === null ? 0n : bitsOf(plan.first),
    within: plan.withinMs,
    absentMs: plan.absentMs,
    times: plan.timestamp ?? NONE,
    ...{ measuresFrom: plan.measures.from, inputs: plan.inputs, ttl: plan.ttlMs },
  });
}

/** The variables with their names, which are pieces, and where their conditions stand. */
function variablesOf(plan: PatternNode, pieces: Pieces) {
  const { rowConditions, aheadConditions, conditions } = plan;
  const ofRows = [rowConditions, aheadConditions];
  return plan.variables.map((name, v) => {
    const text = utf8.encode(name);
    const own = conditions.findIndex(({ variable }) => variable === v);
    const rowProgram = ofRows.findIndex(({ of }) => of.some(({ variable }) => variable === v));
    return {
      rowOperand: ofRows[rowProgram]?.of.find(({ variable }) => variable === v)?.operand ?? NONE,
      rowProgram: Math.max(rowProgram, 0),
      operand: conditions[own]?.operand ?? NONE,
      program: own < 0 ? 0 : own + firstCondition,
      // Texts are read 16 bytes wide.
      nameAt: pieces.add(Uint8Array.from([...text, ...new Uint8Array(16)])),
      nameLen: text.length,
    };
  });
}

function lookOf({ kind, column = 0, variables = [], offset = 0, shift = 0, isFirst, isFinal }: LookPlan) {
  return {
    ...{ variables: bitsOf(variables), offset, shift, column, kind: LookKind[kind] },
    isFirst: isFirst === true ? 1 : 0,
    isFinal: isFinal === true ? 1 : 0,
  };
}

/** How far conditions look ahead, and which, how far measures look behind the match, and how far all look back. */
function rowShifts({ looks, aheadConditions, conditions, measures }: PatternNode) {
  // The variable of a row is known within the match alone.
  const shiftOf = (look: number) => (looks[look]?.kind === 'row' ? (looks[look].shift ?? 0) : 0);
  const furthest = (program: Program | null, operands: readonly Operand[]) =>
    Math.max(
      0,
      ...operands.flatMap((operand) => columnsRead(null, operand).map(shiftOf)),
      ...[...columnsRead(program, null)].map(shiftOf),
    );
  const ofRows = aheadConditions.of.map(({ operand }) => operand);
  const ahead = conditions.map(({ program, operand }) => furthest(program, [operand]));
  const waiting = conditions.filter((_one, i) => ahead[i]! > 0);
  return {
    ahead: Math.max(furthest(aheadConditions.program, ofRows), ...ahead),
    waits: bitsOf([...new Set([...aheadConditions.of, ...waiting].map(({ variable }) => variable))]),
    after: furthest(measures.program, measures.outputs),
    back: Math.max(0, ...looks.map(({ shift = 0 }) => -shift)),
  };
}

setPatternSpec(encodePattern);
