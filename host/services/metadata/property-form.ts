/** Forms of properties for user interfaces, made from the declarations of connectors. */
import { describe, type FieldInfo, type Spec } from '../../base/fields/field.js';
import type { FieldTexts, FormTexts } from '../../base/fields/form-texts.js';

/** A text by language. */
export interface Text {
  readonly en: string;
  readonly zh: string;
}

/** One input of a form. */
export interface FormField {
  /** Always false: programs that keep what users entered set it. */
  readonly exist: boolean;
  readonly name: string;
  readonly default: unknown;
  readonly type: string;
  readonly control: string;
  readonly connection_related: boolean;
  readonly optional: boolean;
  /** Choices of a select; null where any value may be entered. */
  readonly values: readonly unknown[] | null;
  readonly hint: Text;
  readonly label: Text;
}

export interface About {
  readonly trial: boolean;
  readonly installed: boolean;
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

/** A text in both languages; the English one where no translation exists. */
export function text(english: string, chinese = english): Text {
  return { en: english, zh: chinese };
}

/** The description of a connector in its form; all are part of the program. */
export function about(description: string, chinese?: FormTexts): About {
  return { trial: false, installed: true, author, helpUrl: text(''), description: text(description, chinese?.about) };
}

/** Facts for a form that its spec does not have. */
export interface FormContext {
  /** The properties that belong to the connection. */
  readonly connection?: Spec;
  /** Names of the connections whose properties may be used. */
  readonly selectable?: readonly string[];
  readonly chinese?: FormTexts;
}

/** The inputs for a spec. */
export function formOf(spec: Spec, { connection = {}, selectable, chinese }: FormContext = {}): FormField[] {
  const isConnected = Object.keys(connection).length > 0;
  return describe(spec)
    .filter(({ name, isUnlisted }) => !isUnlisted && (name !== selector || isConnected))
    .map((info) => {
      const values = info.name === selector ? selectable : valuesOf(info);
      return fieldOf(info, values, Object.hasOwn(connection, info.name), chinese?.props);
    });
}

/** Property that names a connection to use: there is a choice of it where there are connections. */
const selector = 'connectionSelector';

/** Whole numbers of a range up to this are offered one by one. */
const maxOffered = 8;

function fieldOf(
  info: FieldInfo,
  values: readonly unknown[] | undefined,
  isOfConnection: boolean,
  chinese: FieldTexts = {},
  path = info.name,
): FormField {
  const { name, doc, isSecret, label } = info;
  const [chineseLabel, chineseHint] = chinese[path] ?? [];
  const nested = info.fields
    ?.filter(({ isUnlisted }) => !isUnlisted)
    .map((inner) => fieldOf(inner, valuesOf(inner), false, chinese, `${path}.${inner.name}`));
  return {
    exist: false,
    name,
    default: nested ?? info.default ?? emptyOf(info),
    type: typeOf(info),
    control: isSecret ? 'password' : values === undefined ? controlOf(info) : 'select',
    connection_related: isOfConnection,
    optional: !info.isRequired && (values !== undefined || !isNeeded(info)),
    values: values ?? null,
    hint: text(doc, chineseHint),
    label: text(label ?? captionOf(name), chineseLabel),
  };
}

function valuesOf({ type, values, min, max }: FieldInfo): readonly unknown[] | undefined {
  if (values !== undefined) return values;
  if (type !== 'int' || min === undefined || max === undefined || max - min >= maxOffered) return undefined;
  return Array.from({ length: max - min + 1 }, (_, i) => min + i);
}

/** A text that works with a value only: leaving it empty would not do. */
function isNeeded({ type, default: value }: FieldInfo): boolean {
  return type === 'string' && typeof value === 'string' && value !== '';
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

function controlOf({ type }: FieldInfo): string {
  if (type === 'bool') return 'radio';
  return type === 'list' || type === 'object' ? 'list' : 'text';
}

/** `insecureSkipVerify` → `Insecure skip verify`. */
function captionOf(name: string): string {
  const words = name.replace(/([a-z0-9])([A-Z])/g, '$1 $2').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
