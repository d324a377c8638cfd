/** References to secrets in properties of connectors, resolved when a rule starts or a connection is tried. */
import { secretsIn } from '../../base/fields/declared-secrets.js';
import type { Spec } from '../../base/fields/field.js';
import { maskText } from '../../base/fields/secret-fields.js';
import { type Redact, redactOf } from '../../base/secrets/redact.js';
import { resolveSecrets, type SecretSources } from '../../base/secrets/secret-ref.js';

type Props = Record<string, unknown>;

/** Properties as a connector gets them. */
export interface ResolvedProps {
  readonly value: Props;
  /** Values that must not be shown: those behind references, and passwords written out. */
  readonly secrets: readonly string[];
  readonly redact: Redact;
}

/**
 * Returns the properties with the references in secret ones resolved; throws a `config` error that names property and
 * reference. `spec` tells which properties are secret; what is written out in those that are by their name is one, too.
 * With `mayMiss` references to what is allowed but not there yet stay as they are.
 */
export function resolveProps(
  props: Props,
  where: string,
  spec: Spec,
  sources: SecretSources,
  mayMiss = false,
): ResolvedProps {
  const { value, secrets: resolved } = resolveSecrets(spec, props, { where, sources, mayMiss });
  const secrets = [...new Set([...resolved, ...secretsIn(spec, value)])];
  return { value, secrets: secrets.length === 0 ? noSecrets : secrets, redact: redactOf(secrets) };
}

/**
 * Says which property has a mask in the place of its secret, as an import of a document without secrets leaves it: a
 * sentence, undefined when there is none.
 */
export function missingSecret(props: Readonly<Props>, spec: Spec): string | undefined {
  for (const [name, value] of Object.entries(props)) {
    if (!secretsIn(spec, { [name]: value }).includes(maskText)) continue;
    return `property ${name}: its secret is missing, ${maskText} stands in its place: set it anew`;
  }
  return undefined;
}

const noSecrets: readonly string[] = [];
