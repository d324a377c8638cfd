/**
 * Properties that every source or every sink understands, with a clear refusal of what can't be done yet: forms don't
 * offer that.
 */
import type { WaitingPlan } from '../../kernels/plan/ir.js';
import { type CompressionName, compressionNames } from '../base/bytes/compression.js';
import { field, type Parsed, parse, type Spec } from '../base/fields/field.js';
import { sinkCacheSpec } from '../base/fields/sink-cache-spec.js';
import { parseDuration } from '../base/time/duration.js';
import { sealProps } from './seal.js';

const notYetUnlessEmpty = (value: string) => (value === '' ? undefined : 'is not supported yet');
const noMerger = (name: string) =>
  name === '' ? undefined : `${name} is not found: there are no mergers, messages are merged by mergeField`;

export const commonSource = {
  bufferLength: field
    .int()
    .min(1)
    .default(1024)
    .doc('Accepted for compatibility; memory is bounded in bytes')
    .unlisted(),
  useInt64ForWholeNumber: field.bool().default(false).doc('Whole numbers of undeclared columns are 64-bit integers'),
  connectionSelector: field.string().doc('Named connection whose properties are used'),
  interval: field
    .duration()
    .min(0)
    .default(0)
    .doc('Of each interval only the last message is read, the others are not decoded; 0 reads all'),
  mergeField: field
    .string()
    .default('')
    .doc(
      'With interval: the last message for each value of this member is read, all as one object in which later ' +
        'members win; for JSON',
    ),
  merger: field.string().notYet(noMerger).unlisted(),
  payloadFormat: field
    .string()
    .default('')
    .doc('Format of the messages in the column payloadField: their columns take its place in the row'),
  payloadField: field.string().default('').doc('With payloadFormat: column with the messages, text or bytes'),
  payloadDelimiter: field.string().default('').doc('With payloadFormat delimited: the text between values'),
  payloadSchemaId: field.string().default('').doc('With payloadFormat: schema of the messages'),
  decompression: field
    .string()
    .oneOf('', ...compressionNames)
    .default('')
    .doc('Compression of each message'),
  schemaRegistryUrl: field.string().default('').doc('Of the format `avro`: registry of its schemas').unlisted(),
};

/** Properties of sources whose messages are never compressed, since the engine makes them or they are rows. */
export const plainSource = {
  ...commonSource,
  mergeField: field.string().notYet(notYetUnlessEmpty).doc('Member by which messages are merged').unlisted(),
  payloadFormat: field.string().notYet(notYetUnlessEmpty).doc('Format of messages in a column').unlisted(),
  decompression: field.string().notYet(notYetUnlessEmpty).doc('Compression of each message').unlisted(),
};

/** How a source lets through less than it gets. */
export interface Sampling {
  readonly intervalMs: number;
  /** Member by whose value messages are told apart; empty: all are alike. */
  readonly mergeField: string;
}

/** How messages of a source are sampled; undefined where they are not, or where `interval` has another meaning. */
export function samplingOf(spec: Spec, props: Readonly<Record<string, unknown>>): Sampling | undefined {
  if (spec.interval !== commonSource.interval) return undefined;
  const { interval, mergeField } = parse(
    { interval: commonSource.interval, mergeField: commonSource.mergeField },
    props,
  );
  return interval === 0 ? undefined : { intervalMs: interval, mergeField };
}

/** Compression of a source's messages; undefined without one, or where the property has another meaning. */
export function packingOf(
  spec: Spec,
  { decompression }: Readonly<Record<string, unknown>>,
): CompressionName | undefined {
  if (spec.decompression !== commonSource.decompression || typeof decompression !== 'string') return undefined;
  return compressionNames.find((name) => name === decompression.toLowerCase());
}

const lookupFields = {
  cache: field.bool().default(false).doc('Answers are remembered'),
  cacheTtl: field.any().check(ttlReason).doc('How long: seconds, or a duration such as 10m; for ever without it'),
  cacheMissingKey: field.bool().default(false).doc('That there is no row is remembered, too'),
  cacheSize: field.int().min(1).max(10_000_000).default(100_000).doc('Most keys that are remembered'),
  timeout: field
    .duration()
    .min(1)
    .default(10_000)
    .doc('Longest wait for an answer; the rows that need it are errors then'),
  maxWaiting: field.int().min(1).max(10_000).default(16).doc('Batches of rows that may wait before the streams pause'),
};

/** Properties of all lookup tables that are asked for rows. */
export const commonLookup = {
  connectionSelector: field.string().doc('Named connection whose properties are used'),
  lookup: field.object(lookupFields).doc('How rows wait for answers, and which are remembered'),
};

function ttlReason(value: unknown): string | undefined {
  return ttlMs(value) === undefined ? 'must be seconds, or a duration such as 10m' : undefined;
}

/** `cacheTtl` in milliseconds; undefined when the value is no duration. */
function ttlMs(value: unknown): number | undefined {
  if (value === undefined || value === null || value === '') return 0;
  const seconds = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  const ms = typeof seconds === 'number' && !Number.isNaN(seconds) ? seconds * 1000 : parseDuration(value);
  return ms !== undefined && ms >= 0 ? ms : undefined;
}

/** How rows wait, by the properties of a table. */
export function waitingOf({ lookup }: Parsed<Pick<typeof commonLookup, 'lookup'>>): WaitingPlan {
  const { cache, cacheTtl, cacheMissingKey, cacheSize, timeout, maxWaiting } = lookup;
  return {
    timeoutMs: timeout,
    batches: maxWaiting,
    cache: cache ? { rows: cacheSize, ttlMs: ttlMs(cacheTtl) ?? 0, hasMisses: cacheMissingKey } : null,
  };
}

/** How messages wait for a sink. */
export const cacheProps = {
  ...sinkCacheSpec,
  resendDestination: field
    .string()
    .default('')
    .doc('With resendAlterQueue: where messages that waited go, such as another topic'),
};

/** What becomes of messages that can't go out. */
export const deadLetterProp = {
  deadLetter: field
    .map()
    .check(() => 'must be an object with one action, such as {"mqtt": {…}}')
    .doc('Action that gets the messages which can not go out, each with the reason: {"mqtt": {…}}'),
};

export const commonSink = {
  ...deadLetterProp,
  bufferLength: field.int().min(0).doc('Accepted for compatibility; memory is bounded in bytes').unlisted(),
  connectionSelector: field.string().doc('Named connection whose properties are used'),
  ...cacheProps,
  ...sealProps,
};

/** Properties of sinks that take rows, of which nobody makes messages. */
export const plainSink = {
  ...commonSink,
  compression: field.string().unused().doc('Accepted for compatibility; rows are not compressed').unlisted(),
  encryption: field.string().unused().doc('Accepted for compatibility; rows are not encrypted').unlisted(),
};
