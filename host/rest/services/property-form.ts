/** Forms of properties for user interfaces, made from the declarations of connectors. */
import { describe, type FieldInfo, type Spec } from '../../base/field.js';

/** A text by language. */
export interface Text {
  readonly en: string;
  readonly zh: string;
}

/** One input of a form. */
export interface FormField {
  readonly name: string;
  readonly default: unknown;
  readonly type: string;
  readonly control: string;
  readonly connection_related: boolean;
  readonly optional: boolean;
  readonly values?: readonly unknown[];
  readonly hint: Text;
  readonly label: Text;
}

export interface About {
  readonly trial: boolean;
  readonly author: {
    readonly name: string;
    readonly email: string;
    readonly company: string;
    readonly website: string;
  };
  readonly helpUrl: Text;
  readonly description: Text;
}

const author = { name: 'Haumea', email: '', company: '', website: '' };

/** Documentation is written in one language; interfaces that ask for another get the same text. */
export function text(value: string): Text {
  return { en: value, zh: value };
}

export function about(description: string): About {
  return { trial: false, author, helpUrl: text(''), description: text(description) };
}

/** The inputs for a spec; `connection` names the properties that belong to the connection. */
export function formOf(spec: Spec, connection: Spec = {}): FormField[] {
  return describe(spec)
    .filter(({ isDeprecated }) => !isDeprecated)
    .map((info) => fieldOf(info, Object.hasOwn(connection, info.name)));
}

function fieldOf(info: FieldInfo, isOfConnection: boolean): FormField {
  const { name, doc, isSecret, values, label } = info;
  const nested = info.fields?.map((inner) => fieldOf(inner, false));
  return {
    name,
    default: nested ?? info.default ?? emptyOf(info),
    type: typeOf(info),
    control: isSecret ? 'password' : controlOf(info),
    connection_related: isOfConnection,
    optional: !info.isRequired && !isNeeded(info.default),
    ...(values === undefined ? {} : { values }),
    hint: text(doc),
    label: text(label ?? captionOf(name)),
  };
}

/** A text that works with a value only: leaving it empty would not do. */
function isNeeded(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

function emptyOf({ type }: FieldInfo): unknown {
  if (type === 'string' || type === 'duration') return '';
  return type === 'list' ? [] : type === 'object' ? {} : null;
}

function typeOf({ type, item }: FieldInfo): string {
  if (type === 'duration' || type === 'any') return 'string';
  if (type !== 'list') return type;
  return item === undefined || item === 'any' || item === 'duration' ? 'list_string' : `list_${item}`;
}

function controlOf({ type, values }: FieldInfo): string {
  if (values !== undefined) return 'select';
  if (type === 'bool') return 'radio';
  return type === 'list' || type === 'object' ? 'list' : 'text';
}

/** `insecureSkipVerify` → `Insecure skip verify`. */
function captionOf(name: string): string {
  const words = name.replace(/([a-z0-9])([A-Z])/g, '$1 $2').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
