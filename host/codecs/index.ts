/** The formats of messages by what statements and actions say of them. */
import type { Spec } from '../base/fields/field.js';
import { missingPackage } from '../base/program/missing-package.js';
import type {
  Encode,
  EncodeContext,
  Encoder,
  EncoderModule,
  Format,
  FormatInput,
  HostDecode,
  HostEncode,
  MessageDecoder,
} from './define.js';
import type { DelimitedSettings } from './delimited-payload.js';
import { formatErrors } from './errors.js';
import { formats } from './gen/index.js';

type Props = Readonly<Record<string, unknown>>;

export type SchemaColumn = Awaited<ReturnType<NonNullable<Format['schemaColumns']>>>[number];

/** Format of streams and actions that name none. */
export const defaultFormat = 'json';

const byName = new Map(formats.map((format) => [format.name, format]));
const hostEncodes = formats.flatMap(({ encode }) => (encode !== undefined && 'load' in encode ? [encode] : []));
const chosen = hostEncodes.filter((encode): encode is HostEncode & { chosenBy: string } => 'chosenBy' in encode);

/** All formats, by name. */
export function allFormats(): readonly Format[] {
  return formats;
}

/** Names that FORMAT of a stream and `format` of an action may be, in lower case. */
export const formatNames: readonly string[] = formats
  .filter(({ encode }) => !chosen.some((one) => one === encode))
  .map(({ name }) => name)
  .sort((a, b) => Number(b === defaultFormat) - Number(a === defaultFormat) || (a < b ? -1 : 1));

/** Formats that streams can have. */
export function decodedFormats(): readonly string[] {
  return formatNames.filter((name) => byName.get(name)?.decode !== undefined);
}

/** Formats that messages of actions can have. */
export function encodedFormats(): readonly string[] {
  return formatNames.filter((name) => byName.get(name)?.encode !== undefined);
}

/** How messages of the format become rows; undefined when streams can't have it yet. */
export function decodeOf(format: string): Format['decode'] {
  return byName.get(format)?.decode;
}

/** Tells whether an option of a statement belongs to the format. */
export function readsOption(format: string, option: string): boolean {
  return decodeOf(format)?.options?.includes(option) === true;
}

/** Type of the schemas that say what the columns of the format are; undefined when none do. */
export function schemaTypeOf(format: string): string | undefined {
  return byName.get(format)?.schemaType;
}

/** Rejects with the reason when the text is no schema of the type; what no format checks is taken as it is. */
export async function checkSchema(type: string, text: string): Promise<void> {
  const format = formats.find(({ schemaType, checkSchema }) => schemaType === type && checkSchema !== undefined);
  await withPackages(format?.name ?? '', format?.decode?.host?.packages, async () => format?.checkSchema?.(text));
}

/** Columns of messages by a schema of the type, or by the type in it that is meant; rejects with the reason. */
export async function schemaColumns(schemaType: string, text: string, type: string): Promise<readonly SchemaColumn[]> {
  const format = formats.find((one) => one.schemaType === schemaType && one.schemaColumns !== undefined);
  const columns = async () => (await format?.schemaColumns?.(text, type)) ?? [];
  return withPackages(format?.name ?? '', format?.decode?.host?.packages, columns);
}

const ofEncoders = hostEncodes.flatMap(({ props }) => Object.entries(props));

/** Properties of actions by which formats are chosen and told what to do. */
export const encodeProps: readonly string[] = ['format', ...new Set(ofEncoders.map(([name]) => name))];

/** Those of them that are texts. */
export const encodeTexts: readonly string[] = [
  'format',
  ...ofEncoders.flatMap(([name, { declared }]) => (declared.kind === 'string' ? [name] : [])),
];

/** Properties of the format of an action that hold secrets, with all others of the format; none without secrets. */
export function secretEncodeProps(props: Props): Spec {
  const spec = byName.get(formatOf(props))?.encode?.props ?? {};
  return Object.values(spec).some(({ declared }) => declared.isSecret) ? spec : {};
}

/** Properties of sources that belong to the format. */
export function decodePropsOf(format: string): Spec {
  const decode = decodeOf(format);
  return decode?.props ?? decode?.host?.props ?? {};
}

/** How rows become messages of an action, by its properties; undefined when its format can't be written yet. */
export function encodeOf(props: Props): Encode | undefined {
  const own = chosen.find(({ chosenBy }) => isGiven(props[chosenBy]));
  return own ?? byName.get(formatOf(props))?.encode;
}

/** Tells whether the codec that the property `schemaId` names makes the messages of an action. */
export function usesCodec(props: Props): boolean {
  const encode = byName.get(formatOf(props))?.encode;
  return encode !== undefined && 'load' in encode && encode.usesCodec === true;
}

/** Tells whether messages of an action may hold line feeds, so that they can't be lines. */
export function isBinary(props: Props): boolean {
  const encode = byName.get(formatOf(props))?.encode;
  return encode !== undefined && 'isBinary' in encode;
}

/** Tells whether messages of an action begin with a line that names their columns. */
export function writesHeader(props: Props): boolean {
  const encode = encodeOf(props);
  return encode !== undefined && 'kernel' in encode && encode.output?.(props).header !== undefined;
}

/** Tells whether the property belongs to the format of an action. */
export function readsProp(props: Props, name: string): boolean {
  return name in (byName.get(formatOf(props))?.encode?.props ?? {});
}

/** Opens the host encoder of an action, which `loadEncoder` has loaded before; undefined when the kernel encodes. */
export function openEncoder(props: Props, context: EncodeContext): Encoder | undefined {
  const [first, second] = hostEncodesOf(props);
  if (first === undefined) return undefined;
  if (second === undefined || context.takesRows === true) return made(first, props, context);
  const before = made(first, props, { ...context, framing: 'messages' });
  const after = made(second, props, context);
  const { encodeLater } = after;
  return {
    encode: (chunk, failed) => after.encode(before.encode(chunk, failed), failed),
    encodeLater: encodeLater && (async (chunk, failed) => encodeLater(before.encode(chunk, failed), failed)),
  };
}

function made(encode: EncoderModule, props: Props, context: EncodeContext): Encoder {
  const make = loaded.get(encode);
  if (make === undefined) throw new Error(`the format of ${context.sink} is not loaded`);
  return make(props, context);
}

const loaded = new Map<EncoderModule, Awaited<ReturnType<EncoderModule['load']>>>();

/** Loads the encoders that `openEncoder` opens; resolves with the settings that they get. */
export async function loadEncoder(props: Props, settings?: Props): Promise<Props | undefined> {
  let prepared = settings;
  for (const encode of hostEncodesOf(props)) {
    const load = async () => {
      if (!loaded.has(encode)) loaded.set(encode, await encode.load());
      if (settings !== undefined && encode.prepare !== undefined) prepared = await encode.prepare(settings);
    };
    await withPackages(formatOf(props), encode.packages, load);
  }
  return prepared;
}

/** What the encoder of an action has to know of it; undefined where there is nothing. */
export function encoderSettings(props: Props, input: Omit<FormatInput, 'props' | 'schema'>): Props | undefined {
  const encode = byName.get(formatOf(props))?.encode;
  if (encode === undefined || !('load' in encode)) return undefined;
  return encode.settings?.({ ...input, props, schema: null });
}

/** How the host makes JSON of messages that are within others, or have others in them. */
export function jsonOf(format: string): HostDecode | undefined {
  const decode = decodeOf(format);
  return decode?.host ?? decode?.within;
}

/** Opens the decoder of a format that has one on the host; that of `delimited` is for payloads within messages. */
export async function openDecoder(format: string, settings: Props): Promise<MessageDecoder> {
  if (format === 'delimited') {
    const { DelimitedPayload } = await import('./delimited-payload.js');
    return new DelimitedPayload(settings as unknown as DelimitedSettings);
  }
  const host = jsonOf(format);
  if (host === undefined) throw new Error(`the format ${format} has no decoder on the host`);
  const make = await withPackages(format, host.packages, () => host.load());
  return make(settings);
}

/** Formats of messages that may hold payloads, and formats of these. */
export function payloadFormats(): { readonly outer: readonly string[]; readonly inner: readonly string[] } {
  const outer = decodedFormats().filter((name) => name === defaultFormat || jsonOf(name) !== undefined);
  return { outer, inner: [...outer, 'delimited'] };
}

/** Loads a part of a format; throws HaumeaError `config` that names the missing package. */
async function withPackages<T>(format: string, packages: readonly string[] = [], load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const missing = missingPackage(error, packages);
    if (missing === undefined) throw error;
    throw formatErrors.noPackage(format, missing, { cause: error });
  }
}

/** Encoders on the host in the order of their work: that of the format takes the output of a template. */
function hostEncodesOf(props: Props): EncoderModule[] {
  const encode = encodeOf(props);
  if (encode === undefined || 'kernel' in encode) return [];
  const own = byName.get(formatOf(props))?.encode;
  if (own === undefined || own === encode) return [encode];
  const further = 'kernel' in own ? own.afterOther : own;
  return further === undefined ? [encode] : [encode, further];
}

/** Tells whether messages of an action are made of the output of another encoder, by types of its schema. */
export function usesTypesAfterOther(props: Props): boolean {
  const encode = encodeOf(props);
  const own = byName.get(formatOf(props))?.encode;
  return encode !== own && own !== undefined && 'kernel' in own && own.afterOther !== undefined;
}

function formatOf({ format }: Props): string {
  return typeof format === 'string' && format !== '' ? format.toLowerCase() : defaultFormat;
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}
