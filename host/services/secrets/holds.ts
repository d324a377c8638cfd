/** Whether a stored definition holds secrets. */
import { maskByName } from '../../base/fields/secret-fields.js';
import { isObject } from '../../base/structures/is-object.js';
import type { RuleJson } from '../../meta/definitions/rule-definition.js';
import type { RuleVersion } from '../../meta/definitions/rule-history.js';
import { kinds } from '../../meta/kinds.js';
import { maskProps, type Owner } from './props.js';
import { maskRule } from './rule.js';
import { maskStatement } from './statement.js';

/** Tells whether clients would see a part of it masked. What can't be read counts as secret. */
export function holdsSecret(kind: string, key: string, text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    if (kind === kinds.ruleHistory && Array.isArray(value))
      return value.some(({ rule }: RuleVersion) => holdsSecret(kinds.rule, key, JSON.stringify(rule)));
    return isObject(value) && JSON.stringify(shown(kind, key, value)) !== JSON.stringify(value);
  } catch {
    return true;
  }
}

function shown(kind: string, key: string, value: Record<string, unknown>): unknown {
  if (kind === kinds.rule) return maskRule(value as RuleJson);
  if (kind === kinds.source) return { ...value, statement: maskStatement(String(value.statement)) };
  const { typ, props } = value;
  if (kind === kinds.connection && isObject(props))
    return { ...value, props: maskProps('connections', String(typ), props) };
  const [owner, connector] = key.split('.');
  if (kind === kinds.confKey && connector !== undefined) return maskProps(owner as Owner, connector, value);
  return maskByName(value);
}
