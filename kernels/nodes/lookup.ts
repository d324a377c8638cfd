/** Lookups, in tables that are kept and in those that are asked, as assembly/lookup/ reads them. */
import { LookupFieldKind, LookupFlag, lookupField, lookupKey, lookupSpec } from '../gen/layouts.js';
import { put } from '../memory/layout.js';
import {
  type ColumnUse,
  NONE,
  type NodeInput,
  type NodePlan,
  type Operand,
  type Program,
  type WaitingPlan,
} from '../plan/ir.js';
import { encodeProgram } from '../plan/program.js';
import type { Linking, NodeKind } from './node.js';

/** What a function that looks back and is asked has beside the keys. */
export interface StatesPlan {
  /** Number of keys that rows are partitioned by. */
  partitions: number;
  /** Number of arguments. */
  args: number;
  /** Time after its last row, by the clock, until a partition is dropped, ms; 0: never. */
  ttlMs: number;
}

declare module '../plan/ir.js' {
  interface NodePlans {
    /**
     * Joins each row with the rows of the keyed table `table` (index of an earlier node) whose columns are equal to the
     * keys, operands over the input that `program` computes. Output columns: `columns`, then `fields` of the table's
     * row, MISSING where there is none (`left`). A row that matches several makes several only where rows come in
     * messages; above the rows of a stream the keys must have the table's own. `condition` decides on each pair beside
     * the keys: an operand over the output with a program of its own.
     */
    lookup: {
      input: NodeInput;
      table: number;
      type: 'inner' | 'left';
      program: Program | null;
      columns: Operand[];
      fields: ColumnUse[];
      keys: { name: string; operand: Operand }[];
      condition: { program: Program; operand: Operand } | null;
    };
    /**
     * As a lookup in a table outside: the host is asked (`HostCalls.onAsk`) for the rows of keys that nobody knows yet,
     * and the rows of the input wait until `Kernel.answer` has them; rows, messages and signals stay in their order.
     * `isSingle`: an answer has one row for a key at most, as it must above rows of a stream. `isEach`: every row asks
     * by itself, with values of any kind.
     */
    ask: {
      input: NodeInput;
      /**
       * Index among the lookups of the rule; null: nobody is asked, rows wait until the time (epoch ms) that is the
       * only key.
       */
      lookup: number | null;
      type: 'inner' | 'left';
      program: Program | null;
      columns: Operand[];
      fields: ColumnUse[];
      keys: { name: string; operand: Operand }[];
      condition: { program: Program; operand: Operand } | null;
      isSingle: boolean;
      isEach?: true;
      /** The other side gets the states of partitions; the keys are those of partitions, arguments, and WHEN. */
      states?: StatesPlan;
      waiting: WaitingPlan;
    };
  }
}

const maxColumns = 1200;
const maxKeys = 64;

type LookupPlan = Extract<NodePlan, { kind: 'lookup' | 'ask' }>;

const spec = (plan: LookupPlan, { operand, started, target }: Linking): Uint8Array =>
  encodeLookup({ ...plan, condition: plan.condition && started(plan.condition) }, target, operand);

export const lookup: NodeKind<'lookup'> = {
  traits: { passesColumns: false, passesRows: true, keepsRows: false, worksOnMany: true },
  spec,
};
export const ask: NodeKind<'ask'> = {
  traits: {
    passesColumns: false,
    passesRows: true,
    keepsRows: true,
    worksOnMany: true,
    keepsPartitions: ({ states }) => states !== undefined,
  },
  spec,
};

function encodeLookup(plan: LookupPlan, table: number, operand: (value: Operand) => Operand): Uint8Array {
  const { columns, fields, keys, condition } = plan;
  if (columns.length + fields.length > maxColumns) {
    throw new RangeError(`a lookup has at most ${maxColumns} columns, not ${columns.length + fields.length}`);
  }
  if (keys.length > maxKeys) throw new RangeError(`a lookup has at most ${maxKeys} keys, not ${keys.length}`);
  const parts: Buffer[] = [];
  let length = 0;
  /** Appends a block at the next multiple of 16 and returns where it stands. */
  const append = (bytes: Uint8Array): number => {
    const at = length;
    const padded = Buffer.alloc((bytes.length + 15) & ~15);
    padded.set(bytes);
    parts.push(padded);
    length += padded.length;
    return at;
  };
  append(Buffer.alloc(lookupSpec.size));
  const list = Buffer.alloc(2 * columns.length);
  columns.forEach((column, i) => {
    list.writeUInt16LE(operand(column), 2 * i);
  });
  const columnsAt = append(list);
  const names = (texts: readonly string[]): { nameAt: number; nameLen: number }[] =>
    texts.map((text) => ({ nameAt: append(Buffer.from(text)), nameLen: Buffer.byteLength(text) }));
  const fieldNames = names(fields.map((use) => (use.kind === 'field' ? use.name : '')));
  const fieldList = Buffer.alloc(fields.length * lookupField.size);
  fields.forEach((use, i) => {
    put(viewOf(fieldList), i * lookupField.size, lookupField, { kind: fieldKind(use), ...fieldNames[i]! });
  });
  const fieldsAt = append(fieldList);
  const keyNames = names(keys.map(({ name }) => name));
  const keyList = Buffer.alloc(keys.length * lookupKey.size);
  keys.forEach((key, i) => {
    put(viewOf(keyList), i * lookupKey.size, lookupKey, { operand: operand(key.operand), ...keyNames[i]! });
  });
  const keysAt = append(keyList);
  const program = condition === null ? null : encodeProgram(condition.program);
  const head = parts[0]!;
  put(viewOf(head), 0, lookupSpec, {
    table,
    isLeft: plan.type === 'left' ? 1 : 0,
    columns: columns.length,
    columnsAt,
    fields: fields.length,
    fieldsAt,
    keys: keys.length,
    keysAt,
    program: program === null ? 0 : append(program),
    programLen: program?.length ?? 0,
    condition: condition?.operand ?? NONE,
    ...(plan.kind === 'ask' ? waitingOf(plan) : waitsNever),
  });
  return Buffer.concat(parts);
}

const waitsNever = {
  flags: 0,
  mostWaiting: 0,
  timeout: 0,
  ttl: 0,
  mostKept: 0,
  partitions: 0,
  args: 0,
  stateTtl: 0,
};

function waitingOf({
  lookup,
  isSingle,
  isEach,
  states,
  waiting: { timeoutMs, batches, cache },
}: Extract<NodePlan, { kind: 'ask' }>): typeof waitsNever {
  const flags =
    (isSingle ? LookupFlag.isSingle : 0) |
    (lookup === null ? LookupFlag.isDelay : 0) |
    (isEach === true ? LookupFlag.isEach : 0) |
    (states === undefined ? 0 : LookupFlag.hasStates) |
    (cache === null ? 0 : LookupFlag.keeps) |
    (cache?.hasMisses === true ? LookupFlag.keepsMisses : 0);
  const { partitions = 0, args = 0, ttlMs: stateTtl = 0 } = states ?? {};
  const kept = { ttl: cache?.ttlMs ?? 0, mostKept: cache?.rows ?? 0 };
  return { flags, mostWaiting: batches, timeout: timeoutMs, ...kept, partitions, args, stateTtl };
}

function fieldKind({ kind }: ColumnUse): number {
  if (kind === 'field' || kind === 'row' || kind === 'arrival') return LookupFieldKind[kind];
  return LookupFieldKind.none;
}

function viewOf(bytes: Buffer): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}
