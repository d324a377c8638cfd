/** What the properties of a source say of payloads within its messages, and of messages that are merged. */
import { parse, type Spec } from '../../base/fields/field.js';
import { meantOr } from '../../base/text/nearest.js';
import { defaultFormat, payloadFormats } from '../../codecs/index.js';
import { commonSource, samplingOf } from '../../connectors/common.js';
import type { StreamDefinition } from '../../sql/source-def.js';
import { propErrors } from './errors.js';

const { payloadFormat, payloadField, payloadDelimiter, payloadSchemaId } = commonSource;
const spec = { payloadFormat, payloadField, payloadDelimiter, payloadSchemaId };

/** A column whose values are messages of a format. */
export interface Payload {
  readonly field: string;
  readonly format: string;
  readonly delimiter: string;
  readonly schemaId: string;
}

/**
 * The payload in the messages of a stream; undefined without one. Throws a `config` error that names the property where
 * formats do not go together.
 */
export function payloadOf(
  { name, options }: StreamDefinition,
  declared: Spec,
  props: Readonly<Record<string, unknown>>,
): Payload | undefined {
  const where = `stream ${name}`;
  const outer = options.format.toLowerCase();
  const mergeField = samplingOf(declared, props)?.mergeField ?? '';
  if (mergeField !== '' && outer !== defaultFormat) {
    throw propErrors.property(where, 'mergeField', `is for messages in ${defaultFormat}, not ${outer}`);
  }
  if (declared.payloadFormat !== payloadFormat) return undefined;
  const given = parse(spec, props, { where });
  const format = given.payloadFormat.toLowerCase();
  if (format === '') return undefined;
  const formats = payloadFormats();
  if (!formats.inner.includes(format)) {
    const hint = meantOr(format, formats.inner, 'expected one of');
    throw propErrors.property(where, 'payloadFormat', `${format} is not supported${hint}`);
  }
  if (!formats.outer.includes(outer)) {
    throw propErrors.property(where, 'payloadFormat', `needs messages in ${formats.outer.join(', ')}, not ${outer}`);
  }
  if (given.payloadField === '') throw propErrors.property(where, 'payloadField', 'is required by payloadFormat');
  if (mergeField !== '') throw propErrors.property(where, 'mergeField', 'excludes payloadFormat');
  const { payloadField: column, payloadSchemaId: schemaId } = given;
  return { field: column, format, delimiter: given.payloadDelimiter || ',', schemaId };
}
