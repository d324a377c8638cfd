/** The messages of a schema, linked: each field has its message or enum at hand. */
import type { ServiceField, ServiceTypes } from '../../service-code.js';

export interface Field extends ServiceField {
  readonly message: Message | undefined;
  /** Numbers of the names of an enum, and names of its numbers. */
  readonly numbers: ReadonlyMap<string, number> | undefined;
  readonly names: ReadonlyMap<number, string> | undefined;
}

/** Messages of google.protobuf that stand for another value than an object of their fields. */
export type Standing = 'wrapper' | 'struct' | 'value' | 'list' | 'empty';

export interface Message {
  readonly name: string;
  readonly fields: readonly Field[];
  readonly byNumber: ReadonlyMap<number, Field>;
  readonly stands: Standing | undefined;
}

const standing: Readonly<Record<string, Standing>> = {
  'google.protobuf.Struct': 'struct',
  'google.protobuf.Value': 'value',
  'google.protobuf.ListValue': 'list',
  'google.protobuf.Empty': 'empty',
};
const wrapper = /^google\.protobuf\.(Double|Float|U?Int(64|32)|Bool|String|Bytes)Value$/;

export class Types {
  readonly #messages = new Map<string, Message>();

  constructor({ messages, enums }: ServiceTypes) {
    const linked = new Map<string, { fields: Field[]; byNumber: Map<number, Field> }>();
    for (const [name, given] of Object.entries(messages)) {
      const parts = { fields: [], byNumber: new Map() };
      linked.set(name, parts);
      const isOne = given.length === 1;
      const stands = standing[name] ?? (isOne && wrapper.test(name) ? 'wrapper' : undefined);
      this.#messages.set(name, { name, ...parts, stands });
    }
    for (const [name, given] of Object.entries(messages)) {
      const { fields, byNumber } = linked.get(name) as { fields: Field[]; byNumber: Map<number, Field> };
      for (const one of given) {
        const numbers = one.type === 'enum' ? new Map(Object.entries(enums[one.of ?? ''] ?? {})) : undefined;
        const field: Field = {
          ...one,
          message: one.type === 'message' ? this.#messages.get(one.of ?? '') : undefined,
          numbers,
          names: numbers && new Map([...numbers].map(([text, number]) => [number, text])),
        };
        fields.push(field);
        byNumber.set(field.number, field);
      }
    }
  }

  /** Throws for a name that the schema does not have. */
  message(name: string): Message {
    const message = this.#messages.get(name);
    if (message === undefined) throw new Error(`there is no message ${name}`);
    return message;
  }
}
