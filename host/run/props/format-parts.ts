/** What the formats of streams and actions need: functions of codecs and decoders, settings of encoders. */
import { type HaumeaError, reasonOf } from '../../base/errors.js';
import type { FormatInput } from '../../codecs/define.js';
import { decodeOf, defaultFormat, encoderSettings, schemaTypeOf, usesCodec } from '../../codecs/index.js';
import type { Catalog } from '../../model/engine.js';
import type { UserFunction } from '../../plugins/define.js';
import type { StreamDefinition } from '../../sql/source-def.js';
import type { SinkSpec, SourceSpec } from '../link/protocol.js';
import { propErrors } from './errors.js';
import { formatDecoder, jsonDecoder } from './format-functions.js';
import type { Payload } from './payloads.js';

type Props = Record<string, unknown>;

/** Function that decodes the messages of a stream to JSON; throws a `stream` error when there is none. */
export function decoderOf(
  { name, kind, options }: StreamDefinition,
  stream: Pick<SourceSpec, 'props' | 'schema'>,
  catalog: Catalog,
): UserFunction | undefined {
  const { format, schemaId } = options;
  const whose = `${kind} ${name}`;
  if (decodeOf(format)?.usesCodec !== true) {
    const input = { ...stream, ...schemasOf(format, schemaId, catalog) };
    return orRefused(whose, format, propErrors.decoder, () => formatDecoder(format, input));
  }
  return codecFunction('decode', whose, schemaId, catalog.codec, propErrors.decoder);
}

/**
 * Functions that make JSON of the messages of a stream and of the payloads in one of their columns; undefined for those
 * that are JSON. Throws as `decoderOf`.
 */
export function decoderWithin(
  { name, kind, options }: StreamDefinition,
  payload: Payload,
  stream: Pick<SourceSpec, 'props' | 'schema'>,
  catalog: Catalog,
): { readonly outer: UserFunction | undefined; readonly within: UserFunction | undefined } {
  const decoder = (format: string, schemaId: string | null) =>
    orRefused(`${kind} ${name}`, format, propErrors.decoder, () =>
      jsonDecoder(format, { ...stream, ...schemasOf(format, schemaId, catalog) }, payload.delimiter),
    );
  return {
    outer: decoder(options.format.toLowerCase(), options.schemaId),
    within: decoder(payload.format, payload.schemaId),
  };
}

/** Settings of the encoder of an action; throws a `sink` error when they can't be. */
export function encoderSettingsOf(props: Props, whose: string, catalog: Catalog): SinkSpec['format'] {
  const format = typeof props.format === 'string' ? props.format.toLowerCase() : defaultFormat;
  const schemaId = typeof props.schemaId === 'string' ? props.schemaId : '';
  const input = schemasOf(format, schemaId, catalog);
  return orRefused(whose, format, propErrors.encoder, () => encoderSettings(props, input));
}

function schemasOf(
  format: string,
  schemaId: string | null,
  catalog: Catalog,
): Pick<FormatInput, 'schemaId' | 'schemaText' | 'messages'> {
  const id = schemaId ?? '';
  const schemaText = (name: string) => {
    if (catalog.schemaText === undefined) throw new Error('there are no schemas');
    return catalog.schemaText(schemaTypeOf(format) ?? '', name);
  };
  const messages = () => {
    if (catalog.messages === undefined) throw new Error('there are no schemas');
    if (id === '') throw new Error('the schema and its message have to be named, schema.Message');
    return catalog.messages(id);
  };
  return { schemaId: id, schemaText, messages };
}

function orRefused<T>(whose: string, format: string, errorOf: (text: string) => HaumeaError, make: () => T): T {
  try {
    return make();
  } catch (error) {
    throw errorOf(`${whose}: format ${format}: ${reasonOf(error)}`);
  }
}

/** Function that encodes JSON as messages of an action. */
export function encoderOf(props: Props, whose: string, { codec }: Catalog): UserFunction | undefined {
  if (!usesCodec(props)) return undefined;
  const { schemaId } = props;
  if (typeof schemaId !== 'string' || schemaId === '') {
    throw propErrors.noSchemaId(whose, String(props.format));
  }
  return codecFunction('encode', whose, schemaId, codec, propErrors.encoder);
}

function codecFunction(
  direction: 'decode' | 'encode',
  whose: string,
  schemaId: string | null,
  find: Catalog['codec'],
  errorOf: (text: string) => HaumeaError,
): UserFunction {
  if (find === undefined) throw errorOf(`${whose}: there are no codecs`);
  let title: string;
  try {
    const codec = find(schemaId ?? '');
    const found = codec[direction];
    title = codec.title;
    if (found !== undefined) return found;
  } catch (error) {
    throw errorOf(`${whose}: ${reasonOf(error)}`);
  }
  throw errorOf(`${whose}: ${title} does not ${direction}`);
}

/** Name of a codec's function in errors. */
export function errorTitle({ name, code }: UserFunction): string {
  return code.kind === 'format' ? name : `function ${name} of ${code.name}`;
}
