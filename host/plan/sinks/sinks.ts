/** Reads the sink properties that all connectors share: they give the form of an action's rows and messages. */

import type { OutputPlan } from '../../../kernels/plan/ir.js';
import { isBatch } from '../../../kernels/plan/output-plan.js';
import { asKind, HaumeaError, reasonOf } from '../../base/errors.js';
import { meantOr } from '../../base/text/nearest.js';
import { parseDuration } from '../../base/time/duration.js';
import type { Encode, EncodeDetails } from '../../codecs/define.js';
import {
  defaultFormat,
  encodedFormats,
  encodeOf,
  encodeProps,
  encodeTexts,
  formatNames,
  isBinary,
  readsProp,
} from '../../codecs/index.js';
import { connectorOf, dynamicProps, sinkForm } from '../../connectors/index.js';
import type { RuleDefinition, RuleOptions } from '../../model/engine.js';
import { compileTemplate } from '../../template/compile.js';
import { PropertyTemplates } from '../../template/properties.js';
import { sinkErrors } from '../errors/sink.js';

/** Form of a sink's messages; actions with equal wishes share one encode node. */
export interface SinkWishes extends Omit<OutputPlan, 'shape'>, EncodeDetails {
  /** Only these columns, missing ones as null; null: all. */
  fields: string[] | null;
  excludeFields: string[];
  /** Column that is sent in the place of the row. */
  dataField: string | null;
  /** The order of `fields` is that of the message. */
  keepsOrder: boolean;
  /** A message is the value of one column. */
  isWhole: boolean;
  /** Each message has its rows as JSON in a head, since templates can't take them from the message. */
  hasHead: boolean;
}

/** Properties that change the messages and are not supported by all sinks yet. */
const unsupported = ['compression', 'encryption', 'schemaId', 'rowkindField', 'keyField'] as const;

/** Names of all properties that are read here. */
export const sinkWishNames: readonly string[] = [
  ...unsupported,
  ...encodeProps,
  'sendSingle',
  'omitIfEmpty',
  'batchSize',
  'lingerInterval',
  'fields',
  'excludeFields',
  'dataField',
  'tableDataField',
  'lateRows',
];

/** Properties of all sinks of eKuiper that change nothing here. */
export const idleSinkProps: readonly string[] = [
  'concurrency',
  'runAsync',
  'delimiter',
  'hasHeader',
  'retryInterval',
  'retryCount',
  'cacheLength',
  'cacheSaveInterval',
];

/** Reads the common properties of an action. Throws a `sink` error that names the property and the reason. */
export function sinkWishes(action: RuleDefinition['actions'][number], options: RuleOptions): SinkWishes {
  try {
    return readWishes(action, options);
  } catch (error) {
    throw asSinkError(error);
  }
}

/** Checks the common properties of a sink for dead letters, which the kernel does not write; throws a `sink` error. */
export function checkLetterSink(action: RuleDefinition['actions'][number], options: RuleOptions): void {
  const { format, fields, excludeFields, dataField, ...batch } = sinkWishes(action, options);
  const { props } = action;
  const wrong = [
    ...(format === 'json' || format === 'rows' || format === 'none' ? [] : [['format', 'must be json']]),
    ...(fields === null ? [] : [['fields', 'is not for dead letters']]),
    ...(excludeFields.length === 0 ? [] : [['excludeFields', 'is not for dead letters']]),
    ...(dataField === null ? [] : [[props.dataField ? 'dataField' : 'tableDataField', 'is not for dead letters']]),
    ...(isBatch(batch) ? [[batch.batchSize > 0 ? 'batchSize' : 'lingerInterval', 'is not for dead letters']] : []),
    ...(getsLateRows(action) ? [['lateRows', 'is not for dead letters']] : []),
  ];
  for (const [name = '', reason = ''] of wrong) throw sinkErrors.property(name, reason);
}

function asSinkError(error: unknown): unknown {
  return error instanceof HaumeaError ? asKind('sink', error) : error;
}

/**
 * Tells whether the action gets late rows instead of the result. Throws a `sink` error when `lateRows` is no boolean.
 */
export function getsLateRows({ props }: RuleDefinition['actions'][number]): boolean {
  try {
    return flag(props, 'lateRows');
  } catch (error) {
    throw asSinkError(error);
  }
}

function readWishes({ type, props }: RuleDefinition['actions'][number], options: RuleOptions): SinkWishes {
  const own = connectorOf(type)?.sink?.props ?? {};
  for (const name of unsupported) {
    const isTaken = (own[name] !== undefined && own[name].declared.notYet === undefined) || readsProp(props, name);
    if (isSet(props[name]) && !isTaken) throw sinkErrors.propertyUnsupported(name);
  }
  const encode = encodeFor(type, props);
  const { takes, framing, isRowByRow = false, picksFields = false } = sinkForm(type, props);
  const takesMessages = takes === 'messages';
  if (takesMessages && framing === 'lines' && isBinary(props)) throw sinkErrors.binaryLines(String(props.format));
  const isWhole = 'isWhole' in encode && takesMessages;
  const form = outputForm(type, props, encode);
  // A connector with such a property of its own gathers messages, not rows.
  const batch =
    own.batchSize === undefined
      ? batchOf(props, isWhole || isRowByRow || ['form', 'protobuf'].includes(form.format))
      : { batchSize: 0, lingerMs: 0 };
  const gathers = isBatch(batch);
  if (isWhole && gathers) throw sinkErrors.binaryBatch();
  if (isRowByRow && gathers) throw sinkErrors.rowsBatch(type);
  const picked = picksFields ? { ...props, fields: null } : props;
  const selected = selection(picked, 'selects' in encode);
  const isSelected = selected.fields !== null || selected.excludeFields.length > 0 || selected.dataField !== null;
  return {
    ...form,
    sendSingle: isWhole || isRowByRow || flag(props, 'sendSingle'),
    keepsOrder: 'keepsOrder' in encode && takesMessages,
    isWhole,
    sendNil: options.sendNilField,
    omitIfEmpty: flag(props, 'omitIfEmpty'),
    sendError: options.sendError,
    ...batch,
    ...selected,
    hasHead: hasTemplates(type, props) && (form.format !== 'json' || isSelected || gathers),
  };
}

/** How messages are gathered; a format whose messages are single rows has batches of one row as they are. */
function batchOf(props: Record<string, unknown>, isOfSingles: boolean): Pick<SinkWishes, 'batchSize' | 'lingerMs'> {
  const batchSize = count(props, 'batchSize');
  const lingerMs = duration(props, 'lingerInterval');
  return isOfSingles && batchSize === 1 ? { batchSize: 0, lingerMs: 0 } : { batchSize, lingerMs };
}

/** Returns the encoder of an action's messages; throws for an unknown or unsupported format. */
function encodeFor(type: string, props: Record<string, unknown>): Encode {
  const format = text(props, 'format') ?? defaultFormat;
  if (!formatNames.includes(format.toLowerCase())) {
    const hint = meantOr(format, encodedFormats(), 'expected one of');
    throw sinkErrors.unknownFormat(format, hint);
  }
  for (const name of encodeTexts) text(props, name);
  const encode = encodeOf(props);
  if (encode === undefined) throw sinkErrors.formatUnsupported(format);
  if ('load' in encode) {
    if (sinkForm(type, props).takes === 'rows' && encode.makesRows !== true) {
      throw sinkErrors.propertyOfSink(encode.chosenBy ?? 'format', type);
    }
    for (const name of encode.templates ?? []) compileTemplate(String(props[name]));
  }
  return encode;
}

/** Format and framing that the kernel writes for an action. */
export function outputForm(
  type: string,
  props: Record<string, unknown>,
  encode: Encode,
): Pick<OutputPlan, 'format' | 'framing'> & EncodeDetails {
  const { takes, framing: usual, hasHeaders } = sinkForm(type, props);
  const framing = Object.keys(dynamicProps(type, props)).length > 0 ? 'messages' : usual;
  if (takes === 'nothing') return { format: 'none', framing };
  // The host puts the line feeds behind what it has made.
  if ('load' in encode) return { format: encode.reads, framing: 'messages' };
  if (takes === 'rows') return { format: 'rows', framing };
  const details = encode.output?.(props);
  return { format: encode.kernel, framing, ...details, ...(hasHeaders ? { header: 'each' } : {}) };
}

/** Columns of each row that are sent. A format that selects by itself gets all columns. */
function selection(
  props: Record<string, unknown>,
  selectsItself: boolean,
): Pick<SinkWishes, 'fields' | 'excludeFields' | 'dataField'> {
  const fields = list(props, 'fields');
  const excludeFields = list(props, 'excludeFields') ?? [];
  if (fields !== null && excludeFields.length > 0) {
    throw sinkErrors.fieldsAndExcluded();
  }
  const dataField = text(props, 'dataField') ?? text(props, 'tableDataField');
  if (selectsItself) return { fields: null, excludeFields: [], dataField: null };
  return { fields, excludeFields, dataField };
}

/** Says whether properties are templates over the row; throws for one that is not right. */
function hasTemplates(type: string, props: Record<string, unknown>): boolean {
  const templates = Object.entries(dynamicProps(type, props));
  for (const [name, template] of templates) {
    try {
      new PropertyTemplates({ [name]: template });
    } catch (error) {
      throw sinkErrors.property(name, reasonOf(error));
    }
  }
  return templates.length > 0;
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '' && value !== false && value !== 0;
}

function text(props: Record<string, unknown>, name: string): string | null {
  const value = props[name];
  if (value === undefined || value === null || value === '') return null;
  if (typeof value !== 'string') throw sinkErrors.propertyText(name);
  return value;
}

function flag(props: Record<string, unknown>, name: string): boolean {
  const value = props[name];
  if (value === undefined || value === null) return false;
  if (value === 'true' || value === 'false') return value === 'true';
  if (typeof value !== 'boolean') throw sinkErrors.propertyBoolean(name);
  return value;
}

function list(props: Record<string, unknown>, name: string): string[] | null {
  const value = props[name];
  if (value === undefined || value === null) return null;
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'string')) {
    throw sinkErrors.propertyColumns(name);
  }
  return value.length === 0 ? null : [...new Set<string>(value)];
}

function count(props: Record<string, unknown>, name: string): number {
  const value = props[name];
  if (value === undefined || value === null) return 0;
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isSafeInteger(number) || number < 0) {
    throw sinkErrors.propertyCount(name, value);
  }
  return number;
}

function duration(props: Record<string, unknown>, name: string): number {
  const value = props[name];
  if (value === undefined || value === null || value === '') return 0;
  const ms = parseDuration(value);
  if (ms === undefined || ms < 0) {
    throw sinkErrors.propertyDuration(name);
  }
  return ms;
}
