/** Forms as the server describes them: properties of connectors with their meaning in both languages. */
import { language } from '../../state/language.js';

/** A text in both languages. */
interface Texts {
  readonly en?: string;
  readonly zh?: string;
}

export interface PropertySpec {
  readonly name: string;
  readonly default?: unknown;
  readonly type: string;
  readonly control: string;
  readonly optional: boolean;
  readonly connection_related?: boolean;
  readonly values?: readonly unknown[] | null;
  readonly hint?: Texts;
  readonly label?: Texts;
}

export interface Described {
  readonly name: string;
  readonly about?: { readonly description?: Texts };
}

/** What the server says, in the language of the page. */
export function spoken(texts: Texts | undefined): string {
  return texts?.[language.value] || texts?.en || '';
}

/** The properties of a form: a list, or under the default key. */
export function propertiesOf(form: unknown): readonly PropertySpec[] {
  const { properties } = form as { properties?: unknown };
  if (Array.isArray(properties)) return properties;
  const { default: ofDefault } = (properties ?? {}) as { default?: unknown };
  return Array.isArray(ofDefault) ? ofDefault : [];
}

/** What a user typed as the property takes it; throws where it can't be read. */
function readValue({ type, name }: PropertySpec, text: string): unknown {
  if (type === 'bool') return text === 'true';
  if (type === 'int' || type === 'float') {
    const value = Number(text);
    // Durations are numbers with units as well.
    return Number.isNaN(value) ? text : value;
  }
  if (type === 'string') return text;
  // Names as people write them: a, b.
  if (type === 'list_string' && !text.trim().startsWith('[')) return text.split(',').map((one) => one.trim());
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${name}: ${error instanceof Error ? error.message : ''}`);
  }
}

/** A value as a user types it. */
export function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

export type Typed = Readonly<Record<string, string>>;

/** The properties that the user has set. */
export function propsOf(specs: readonly PropertySpec[], typed: Typed): Record<string, unknown> {
  const given = specs.filter(({ name }) => (typed[name] ?? '') !== '');
  return Object.fromEntries(given.map((spec) => [spec.name, readValue(spec, typed[spec.name]!)]));
}
