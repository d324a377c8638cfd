/** Secrets in export documents: which items hold some, leaving them out, and what an import then misses. */
import { maskText } from '../../base/fields/secret-fields.js';
import type { RuleJson } from '../../meta/definitions/rule-definition.js';
import type { Items } from '../../meta/transfer/document.js';
import type { SectionName } from '../../meta/transfer/sections.js';
import { maskProps, type Owner } from '../secrets/props.js';
import { maskRule } from '../secrets/rule.js';
import { maskStatement } from '../secrets/statement.js';

/** Items looked at between two turns of the event loop. */
const slice = 50;

/** Returns the items with their secrets masked; files with private keys are left out. */
export async function withoutSecrets(items: Items<string>): Promise<Items<string>> {
  const masked = new Map([...items.keys()].map((section) => [section, new Map<string, string>()]));
  await eachMasked(items, (section, name, _text, without) => {
    if (without !== undefined) masked.get(section)?.set(name, without);
  });
  return masked;
}

/** Names the items that hold secrets: `sourceConfig mqtt`. */
export async function secretsIn(items: Items<string>): Promise<string[]> {
  const places: string[] = [];
  await eachMasked(items, (section, name, text, without) => {
    if (without !== text) places.push(`${section} ${name}`);
  });
  return places;
}

/** Masks the text of each item, a few at a time: there may be as many as rules. */
async function eachMasked(
  items: Items<string>,
  take: (section: SectionName, name: string, text: string, without: string | undefined) => void,
): Promise<void> {
  let count = 0;
  for (const [section, values] of items) {
    for (const [name, text] of values) {
      take(section, name, text, maskedText(section, name, text));
      if (++count % slice === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

/**
 * Names the secrets for which a mask stands, those of an import that were left out and are not known here:
 * `sourceConfig mqtt: key.password`. Of a statement only its name.
 */
export function missingIn(stored: Items<string>, imported: Items<unknown>): string[] {
  return [...stored].flatMap(([section, values]) =>
    [...values]
      .filter(([name, text]) => text.includes(maskText) && imported.get(section)?.has(name) === true)
      .flatMap(([name, text]) => {
        const members = section === 'streams' || section === 'tables' ? [] : maskedMembers(JSON.parse(text));
        return members.length === 0 ? [`${section} ${name}`] : members.map((path) => `${section} ${name}: ${path}`);
      }),
  );
}

/** Paths of the members whose value is the mask: `actions.0.mqtt.password`. */
function maskedMembers(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    member === maskText ? [name] : maskedMembers(member).map((path) => `${name}.${path}`),
  );
}

/** The text of an item without its secrets; undefined when all of it is one. */
function maskedText(section: SectionName, name: string, text: string): string | undefined {
  switch (section) {
    case 'sourceConfig':
      return maskedKeys('sources', name, text);
    case 'sinkConfig':
      return maskedKeys('sinks', name, text);
    case 'connectionConfig':
      return maskedKeys('connections', name, text);
    case 'rules':
      return JSON.stringify(maskRule(JSON.parse(text) as RuleJson));
    case 'streams':
    case 'tables':
      return maskStatement(text);
    case 'uploads':
      return text.includes('PRIVATE KEY-----') ? undefined : text;
    default:
      return text;
  }
}

/** The JSON of the keys of a connector. */
function maskedKeys(owner: Owner, connector: string, text: string): string {
  const keys = Object.entries(JSON.parse(text) as Record<string, Record<string, unknown>>);
  return JSON.stringify(Object.fromEntries(keys.map(([key, props]) => [key, maskProps(owner, connector, props)])));
}
