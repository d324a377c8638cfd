/** Secrets in export documents: which items hold some, leaving them out, and what an import then misses. */
import { maskByName, maskText, secretTextsOf } from '../../base/fields/secret-fields.js';
import { parseStatement } from '../../sql/parser.js';
import type { Items } from './document.js';
import type { SectionName } from './sections.js';

/** Returns the items with their secrets masked; files with private keys are left out. */
export function withoutSecrets(items: Items<string>): Items<string> {
  return new Map(
    [...items].map(([section, values]) => {
      const kept = [...values].flatMap(([name, text]): [string, string][] => {
        const masked = maskedText(section, text);
        return masked === undefined ? [] : [[name, masked]];
      });
      return [section, new Map(kept)];
    }),
  );
}

/** Names the items that hold secrets: `sourceConfig mqtt`. */
export function secretsIn(items: Items<string>): string[] {
  return placesOf(items, (section, text) => maskedText(section, text) !== text);
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

function placesOf(items: Items<string>, isOne: (section: SectionName, text: string) => boolean): string[] {
  return [...items].flatMap(([section, values]) =>
    [...values].filter(([, text]) => isOne(section, text)).map(([name]) => `${section} ${name}`),
  );
}

/** The text of an item without its secrets; undefined when all of it is one. */
function maskedText(section: SectionName, text: string): string | undefined {
  switch (section) {
    case 'sourceConfig':
    case 'sinkConfig':
    case 'connectionConfig':
      return JSON.stringify(maskByName(JSON.parse(text)));
    case 'rules': {
      const rule = JSON.parse(text) as Record<string, unknown>;
      for (const part of ['actions', 'graph']) if (rule[part] !== undefined) rule[part] = maskByName(rule[part]);
      return JSON.stringify(rule);
    }
    case 'streams':
    case 'tables':
      return maskedStatement(text);
    case 'uploads':
      return text.includes('PRIVATE KEY-----') ? undefined : text;
    default:
      return text;
  }
}

/** Properties in the option EXTRA may be secret. */
function maskedStatement(sql: string): string {
  let extra: unknown;
  try {
    const statement = parseStatement(sql);
    extra = statement.kind === 'create' ? JSON.parse(statement.options.EXTRA ?? 'null') : null;
  } catch {
    return sql;
  }
  return secretTextsOf(extra).reduce((text, secret) => {
    const inJson = JSON.stringify(secret).slice(1, -1);
    const forms = [secret, inJson, JSON.stringify(inJson).slice(1, -1)];
    return forms.reduce((masked, form) => masked.replaceAll(form, maskText), text);
  }, sql);
}
