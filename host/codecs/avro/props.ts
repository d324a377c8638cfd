/** Properties of streams and actions that say what stands before their messages, and where schemas come from. */
import { field, type Parsed, parse, type Spec } from '../../base/fields/field.js';
import type { FormatInput } from '../define.js';
import { formatErrors } from '../errors.js';

const shared = {
  singleObject: field
    .bool()
    .default(false)
    .doc('Of the format `avro`: a mark and the fingerprint of the schema stand before each message'),
  schemaRegistry: field
    .string()
    .oneOf('', 'confluent')
    .default('')
    .doc('Of the format `avro`: `confluent` where a zero and the number of the schema stand before each message'),
  schemaRegistryUrl: field
    .address()
    .default('')
    .doc('Registry that knows the schemas by number; without it the numbers are those of the properties'),
  schemaRegistryUser: field.string().default('').doc('User at the schema registry'),
  schemaRegistryPassword: field.secret().default('').doc('Password at the schema registry'),
  schemaRegistryToken: field.secret().default('').doc('Bearer token at the schema registry'),
  schemaRegistryTimeout: field.duration().min(1).default(5000).doc('Longest wait for the schema registry'),
};

export const decodeProps = {
  ...shared,
  schemaIds: field
    .map()
    .default({})
    .doc('Without schemaRegistryUrl: schemas by their numbers, `{"17":"reading"}`; otherwise SCHEMAID is meant by all'),
};

export const encodeProps = {
  schemaId: field.string().default('').doc('Of the format `avro`: the schema, `name` or `name.Type`'),
  ...shared,
  schemaSubject: field.string().default('').doc('Subject under which the schema registry gets the schema'),
  schemaNumber: field
    .int()
    .min(0)
    .max(0xffffffff)
    .doc('Without schemaRegistryUrl: number of the schema before messages'),
};

/** A schema of the server, and the type in it that is meant. */
export interface NamedSchema {
  readonly name: string;
  readonly type: string;
  readonly text: string;
}

export interface RegistryAddress {
  readonly url: string;
  readonly user: string;
  readonly password: string;
  readonly token: string;
  readonly timeoutMs: number;
}

export type Framing = 'none' | 'single' | 'confluent';

interface Settings extends Readonly<Record<string, unknown>> {
  readonly framing: Framing;
  readonly schemas: readonly NamedSchema[];
  readonly registry: RegistryAddress | null;
}

export interface DecodeSettings extends Settings {
  /** Place in `schemas` by the number of the schema. */
  readonly ids: Readonly<Record<string, number>>;
}

export interface EncodeSettings extends Settings {
  readonly subject: string;
  /** Number of the schema; null: the registry has it. */
  readonly number: number | null;
}

export function decodeSettings(input: FormatInput): DecodeSettings {
  const props = parsed(decodeProps, input.props);
  const settings = sharedSettings(props);
  const schemas = namesIn(input.schemaId).map((id) => named(id, input));
  const ids: Record<string, number> = {};
  for (const [number, id] of Object.entries(props.schemaIds)) {
    if (!/^\d{1,10}$/.test(number) || typeof id !== 'string') {
      throw formatErrors.refused('property schemaIds must have names of schemas by their numbers');
    }
    ids[number] = schemas.push(named(id, input)) - 1;
  }
  const hasIds = Object.keys(ids).length > 0;
  if (hasIds && (settings.framing !== 'confluent' || settings.registry !== null)) {
    throw formatErrors.refused('property schemaIds is for schemaRegistry confluent without schemaRegistryUrl');
  }
  if (schemas.length === 0 && settings.registry === null) throw formatErrors.refused('SCHEMAID is missing: the schema');
  const several = settings.framing === 'none' || (settings.framing === 'confluent' && !hasIds);
  if (several && schemas.length > 1) throw formatErrors.refused('SCHEMAID names several schemas');
  return { ...settings, schemas, ids };
}

export function encodeSettings(input: FormatInput): EncodeSettings {
  const props = parsed(encodeProps, input.props);
  const settings = sharedSettings(props);
  const { schemaId, schemaSubject: subject, schemaNumber: number = null } = props;
  if (schemaId === '') throw formatErrors.refused('property schemaId is missing: the schema');
  const { framing, registry } = settings;
  if (framing === 'confluent' && registry === null && number === null) {
    throw formatErrors.refused('property schemaNumber is missing: the number of the schema before messages');
  }
  if (registry !== null && subject === '' && number === null) {
    throw formatErrors.refused('property schemaSubject is missing: where the schema registry keeps the schema');
  }
  return { ...settings, schemas: [named(schemaId, input)], subject, number };
}

function sharedSettings(props: Parsed<typeof shared>): Pick<Settings, 'framing' | 'registry'> {
  const { singleObject, schemaRegistry, schemaRegistryUrl: url } = props;
  if (singleObject && schemaRegistry !== '')
    throw formatErrors.refused('singleObject and schemaRegistry exclude each other');
  if (url !== '' && schemaRegistry === '')
    throw formatErrors.refused('schemaRegistryUrl needs schemaRegistry: confluent');
  if (url !== '' && !/^https?:\/\/[^/?#]/.test(url)) {
    throw formatErrors.refused('property schemaRegistryUrl must be an http or https address');
  }
  const framing = singleObject ? 'single' : schemaRegistry === '' ? 'none' : 'confluent';
  const { schemaRegistryUser: user, schemaRegistryPassword: password, schemaRegistryToken: token } = props;
  const registry = { url, user, password, token, timeoutMs: props.schemaRegistryTimeout };
  return { framing, registry: url === '' ? null : registry };
}

function parsed<S extends Spec>(spec: S, props: Readonly<Record<string, unknown>>): Parsed<S> {
  const own = Object.fromEntries(Object.entries(props).filter(([name]) => Object.hasOwn(spec, name)));
  return parse(spec, own);
}

function namesIn(schemaId: string): string[] {
  return schemaId.split(',').flatMap((one) => (one.trim() === '' ? [] : [one.trim()]));
}

function named(id: string, { schemaText }: FormatInput): NamedSchema {
  const at = id.indexOf('.');
  const name = at < 0 ? id : id.slice(0, at);
  return { name, type: at < 0 ? '' : id.slice(at + 1), text: schemaText(name) };
}
