/** The types of a message as the kernel needs them. */
import type { Enum, Field, Type } from 'protobufjs';
import type { MessageField, MessageType, MessageTypes } from '../../model/message-types.js';

type Kind = MessageField['kind'];

const wrapper = /^\.google\.protobuf\.(Double|Float|U?Int(64|32)|Bool|String|Bytes)Value$/;
const wellKnown = '.google.protobuf.';

/** The message and all that its fields are made of. */
export function messageTypesOf(message: Type): MessageTypes {
  return new Collector().collect(message);
}

class Collector {
  readonly #indexes = new Map<Type, number>();
  readonly #queue: Type[] = [];
  /** Entries of maps come behind all other types. */
  readonly #types: MessageType[] = [];

  collect(message: Type): MessageTypes {
    this.#indexOf(message);
    for (let i = 0; i < this.#types.length; i++) {
      const type = this.#queue[i];
      if (type !== undefined) this.#types[i] = this.#typeOf(type);
    }
    return this.#types;
  }

  #indexOf(type: Type): number {
    const known = this.#indexes.get(type);
    if (known !== undefined) return known;
    const index = this.#types.push({ fields: [] }) - 1;
    this.#queue[index] = type;
    this.#indexes.set(type, index);
    return index;
  }

  #typeOf(type: Type): MessageType {
    const { fullName, oneofsArray } = type;
    // Extensions are not fields of the message, as everywhere else.
    const own = type.fieldsArray.filter(({ declaringField }) => declaringField === null);
    const fields = own.map((field) => this.#fieldOf(field, oneofsArray));
    if (wrapper.test(fullName) && isOneScalar(own)) return { fields, stands: 'wrapper' };
    return fullName === `${wellKnown}Timestamp` ? { fields, stands: 'time' } : { fields };
  }

  #fieldOf(field: Field, oneofs: Type['oneofsArray']): MessageField {
    field.resolve();
    const { name, id: number, partOf, resolvedType } = field;
    if (field.map)
      return { name, number, kind: 'message', isMap: true, repeated: 'single', type: this.#entryOf(field), none: '' };
    const isMessage = resolvedType !== null && 'fieldsArray' in resolvedType;
    return {
      name,
      number,
      ...this.#valueOf(field),
      ...(field.repeated && { repeated: field.packed && !isMessage && isPackable(field.type) ? 'packed' : 'single' }),
      ...(field.delimited && { isGroup: true as const }),
      ...(partOf && { oneof: oneofs.indexOf(partOf) }),
      ...(field.required && { required: true as const }),
      ...(field.hasPresence && { presence: true as const }),
      none: noneOf(field),
    };
  }

  #valueOf({
    type,
    resolvedType,
  }: Pick<Field, 'type' | 'resolvedType'>): Pick<MessageField, 'kind' | 'type' | 'texts'> {
    if (resolvedType === null) return { kind: type as Kind };
    if ('fieldsArray' in resolvedType) return { kind: 'message', type: this.#indexOf(resolvedType) };
    return { kind: 'enum', texts: Object.entries((resolvedType as Enum).values) };
  }

  /** The type of the entries of a map. */
  #entryOf(field: Field): number {
    const keyType = (field as Field & { keyType: string }).keyType as Kind;
    const key: MessageField = { name: 'key', number: 1, kind: keyType, presence: true, none: zeroOf(keyType) };
    const value = this.#valueOf(field);
    const none = value.kind === 'enum' ? firstOf(field) : zeroOf(value.kind);
    return this.#types.push({ fields: [key, { name: 'value', number: 2, ...value, presence: true, none }] }) - 1;
  }
}

/** A schema may declare a type of its own under the name of a wrapper. */
function isOneScalar([field, ...others]: readonly Field[]): boolean {
  if (field === undefined || others.length > 0 || field.resolvedType !== null) return false;
  return !field.repeated && !field.map && field.partOf === null;
}

function isPackable(type: string): boolean {
  return type !== 'string' && type !== 'bytes';
}

function zeroOf(kind: Kind): string | boolean {
  if (kind === 'bool') return false;
  return kind === 'string' || kind === 'bytes' || kind === 'message' ? '' : '0';
}

function firstOf({ resolvedType }: Pick<Field, 'resolvedType'>): string {
  return String(Object.values((resolvedType as Enum).values)[0] ?? 0);
}

/** The field has an empty message where there is none. */
function isFilled({ hasPresence, repeated, map, partOf, resolvedType }: Field): boolean {
  if (resolvedType === null || !('fieldsArray' in resolvedType) || repeated || map || partOf) return false;
  return hasPresence || resolvedType.fullName.startsWith(wellKnown);
}

/** An empty message of the type would hold another one, and so on. */
function isEndless(type: Type, within: Type, seen: Set<Type>): boolean {
  if (seen.has(within)) return false;
  seen.add(within);
  return within.fieldsArray.some((field) => {
    field.resolve();
    const { resolvedType } = field;
    return isFilled(field) && (resolvedType === type || isEndless(type, resolvedType as Type, seen));
  });
}

/**
 * What a message without the field has, as recorded: the declared value or zero, no bytes, an empty message of proto2
 * and of the types of google.protobuf.
 */
function noneOf(field: Field): MessageField['none'] {
  const { type, resolvedType, options } = field;
  const given = options?.default;
  if (resolvedType !== null && 'fieldsArray' in resolvedType) {
    return isFilled(field) && !isEndless(resolvedType, resolvedType, new Set()) ? '' : null;
  }
  if (resolvedType !== null) return given === undefined ? firstOf(field) : String(field.defaultValue);
  if (given === undefined) return type === 'bytes' ? null : zeroOf(type as Kind);
  if (type === 'bool') return field.defaultValue === true;
  if (type === 'bytes') return Buffer.from(field.defaultValue as Uint8Array).toString('base64');
  return String(field.defaultValue);
}
