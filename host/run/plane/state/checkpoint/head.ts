/**
 * The head of a checkpoint file, before the state. Checksums tell damage, not who wrote it: a file may come from
 * another machine (archive.ts), so that each member is checked before it is used.
 */
import { basename } from 'node:path';
import type { KeptOperator } from '../../../../model/kept.js';
import type { SegmentedRows } from '../../../link/moving.js';
import { damaged } from './file-bytes.js';

/** Head of a checkpoint: everything but the state. */
export interface CheckpointHead {
  readonly rule: string;
  /** Number of the checkpoint, which rises from one to the next. */
  readonly epoch: number;
  /** Time of rows and windows when the checkpoint was taken, epoch ms. */
  readonly at: number;
  readonly stateBytes: number;
  /** Positions of the sources that rewind, by stream. */
  readonly sources: Readonly<Record<string, unknown>>;
  /** Positions of the sinks that can be cut back, by number of the action. */
  readonly sinks: Readonly<Record<string, unknown>>;
  /** Operators of the rule with state that users know, under their names of that time. */
  readonly kept?: readonly KeptOperator[];
  /** Rows that stand in segments. */
  readonly rows?: SegmentedRows;
  /** Bytes of the input that is pending, by stream, in this order. */
  readonly pending?: Readonly<Record<string, number>>;
  /**
   * Id of a joint checkpoint, which tells it from others of the same name, and names of the other checkpoints;
   * undefined for one that counts alone.
   */
  readonly joint?: { readonly id: string; readonly others: readonly CheckpointName[] };
  /** How the rule is divided that this one belongs to, and how many have a checkpoint of this number. */
  readonly common?: { readonly by: string; readonly members: number };
}

/** Name of a checkpoint: its folder and its epoch. */
export interface CheckpointName {
  /** Folder of the rule, within the folder of all checkpoints. */
  readonly folder: string;
  readonly epoch: number;
}

/** Most rules whose joint checkpoints name each other. */
export const mostNamed = 100;
/** Most operators of a rule, and most members of one. */
const mostKept = 65_536;
/** Most segments of one checkpoint: far more than any has (segments.ts). */
const mostSegments = 4096;
/** Most sets of groups of one checkpoint. */
const mostSets = 1 << 20;
/** Furthest from 1970 that a time can be, ms. */
const maxTime = 8.64e15;
const maxU32 = 0xff_ff_ff_ff;

type Test = (value: unknown) => boolean;

const members: Readonly<Record<keyof CheckpointHead, Test>> = {
  rule: isText,
  epoch: isCount,
  at: (value) => typeof value === 'number' && Math.abs(value) <= maxTime,
  stateBytes: isCount,
  sources: isMap,
  sinks: isMap,
  kept: orNone((value) => isListOf(value, isKept, mostKept)),
  rows: orNone((value) => isMap(value) && isRows(value)),
  pending: orNone((value) => isMap(value) && Object.values(value).every(isCount)),
  common: orNone((value) => isMap(value) && isText(value.by) && isCount(value.members)),
  joint: orNone((value) => isMap(value) && isText(value.id) && isListOf(value.others, isCheckpointName, mostNamed)),
};

/** Reads a head; throws what is wrong with it. */
export function headOf(bytes: Buffer): CheckpointHead {
  let head: unknown;
  try {
    head = JSON.parse(bytes.toString());
  } catch {
    throw damaged('its head is no JSON');
  }
  if (!isMap(head)) throw damaged('its head is no object');
  for (const [name, isRight] of Object.entries(members)) {
    if (!isRight(head[name])) throw damaged(`${name} in its head is not what it must be`);
  }
  return head as unknown as CheckpointHead;
}

/** Whether the value names a checkpoint, in a folder beside those of other rules. */
export function isCheckpointName(value: unknown): value is CheckpointName {
  return isMap(value) && isFileName(value.folder) && isCount(value.epoch);
}

function isRows({ least, count, fresh, sets, segments }: Readonly<Record<string, unknown>>): boolean {
  if (!isU32(least) || !isU32(count) || !(fresh === undefined || isU32(fresh))) return false;
  const areNumbers = (value: unknown) => Array.isArray(value) && value.length <= mostSets && value.every(isU32);
  if (sets !== undefined && !areNumbers(sets)) return false;
  const isSegment = (one: Readonly<Record<string, unknown>>) =>
    isFileName(one.file) && isCount(one.bytes) && isText(one.digest);
  if (!isListOf(segments, isSegment, mostSegments)) return false;
  return new Set(segments.map(({ file }) => file)).size === segments.length;
}

function isKept({
  identity,
  what,
  holder,
  rows,
  lists,
  isSilent,
  isOutput,
}: Readonly<Record<string, unknown>>): boolean {
  const isMember = (one: Readonly<Record<string, unknown>>) => isText(one.key) && isText(one.text);
  const isList = (one: Readonly<Record<string, unknown>>) =>
    isText(one.of) && isListOf(one.members, isMember, mostKept);
  const areTexts = Array.isArray(rows) && rows.every(isText);
  const areMarks = [isSilent, isOutput].every((mark) => mark === undefined || mark === true);
  return (
    isText(identity) && isText(what) && isText(holder) && areTexts && areMarks && isListOf(lists, isList, mostKept)
  );
}

function isListOf(
  value: unknown,
  isOne: (map: Readonly<Record<string, unknown>>) => boolean,
  most: number,
): value is Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) && value.length <= most && value.every((one) => isMap(one) && isOne(one));
}

function isFileName(value: unknown): boolean {
  return isText(value) && value === basename(value) && !['', '.', '..'].includes(value) && !value.includes('\0');
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isU32(value: unknown): boolean {
  return isCount(value) && (value as number) <= maxU32;
}

function orNone(test: Test): Test {
  return (value) => value === undefined || test(value);
}
