/** The messages and enums of a schema as services need them. */
import type { Enum, Field, Type } from 'protobufjs';
import type { ServiceField, ServiceTypes } from '../../plugins/service-code.js';

/** Most messages that a method may reach: a hostile schema ends here. */
const mostMessages = 1000;

/** Collects what messages are made of. */
export class TypeCollector {
  readonly #messages: Record<string, readonly ServiceField[]> = {};
  readonly #enums: Record<string, Readonly<Record<string, number>>> = {};
  #count = 0;

  get types(): ServiceTypes {
    return { messages: this.#messages, enums: this.#enums };
  }

  /** Takes a message with all that it is made of; returns its name. */
  add(type: Type): string {
    const queue = [type];
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      const name = nameOf(next);
      if (Object.hasOwn(this.#messages, name)) continue;
      if (++this.#count > mostMessages) throw new Error(`its methods need more than ${mostMessages} messages`);
      // Extensions are not fields of the message.
      const own = next.fieldsArray.filter(({ declaringField }) => declaringField === null);
      this.#messages[name] = own.sort((a, b) => a.id - b.id).map((field) => this.#fieldOf(field, name, queue));
    }
    return nameOf(type);
  }

  #fieldOf(field: Field, owner: string, queue: Type[]): ServiceField {
    field.resolve();
    const { name, id: number, jsonName: json, resolvedType } = field;
    if (field.delimited) throw new Error(`the field ${name} of ${owner} is a group: groups are not supported`);
    const key = field.map ? (field as Field & { keyType: string }).keyType : undefined;
    const isMessage = resolvedType !== null && 'fieldsArray' in resolvedType;
    if (isMessage) queue.push(resolvedType);
    else if (resolvedType !== null) this.#enums[nameOf(resolvedType)] = { ...(resolvedType as Enum).values };
    const isPackable = !isMessage && field.type !== 'string' && field.type !== 'bytes';
    return {
      name,
      number,
      json,
      type: resolvedType === null ? field.type : isMessage ? 'message' : 'enum',
      ...(resolvedType !== null && { of: nameOf(resolvedType) }),
      ...(key !== undefined && { key }),
      ...(field.repeated && { repeated: field.packed && isPackable ? 'packed' : 'single' }),
      ...((field.partOf !== null || field.hasPresence) && { presence: true as const }),
    };
  }
}

function nameOf({ fullName }: Type | Enum): string {
  return fullName.replace(/^\./, '');
}
