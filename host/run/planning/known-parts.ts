/**
 * What rules of one form have in common besides their plan: the specs of their connectors, and the warnings. Thousands
 * of rules that start would each put together the same properties. What lies outside the store, as files of secrets and
 * links in paths, is looked at again after a second.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Redact } from '../../base/secrets/redact.js';
import type { Connector } from '../../connectors/define.js';
import { connectorOf } from '../../connectors/index.js';
import type { Catalog, RuleDefinition } from '../../model/engine.js';
import type { SinkSpec, SourceSpec } from '../link/protocol.js';
import type { connectorSpecs } from '../props/resolve.js';

type Specs = ReturnType<typeof connectorSpecs>;

/** Specs of the connectors of a rule; the sinks are without retry queues, whose folders are of one rule. */
export interface KnownSpecs {
  readonly sources: SourceSpec[];
  readonly sinks: SinkSpec[];
  readonly redact: Redact;
}

interface Known {
  readonly version: number;
  readonly access: Catalog['access'];
  readonly connectors: readonly (Connector | undefined)[];
  readonly options: RuleDefinition['options'];
  readonly at: number;
  /** Specs that were trusted before, of the same connectors. */
  readonly before: KnownSpecs | undefined;
  warnings?: readonly string[];
  specs?: KnownSpecs | undefined;
}

const trustedMs = 1000;

export class KnownParts {
  /** By the lists of sources and actions, which rules of one form share. */
  readonly #known = new WeakMap<object, WeakMap<RuleDefinition['actions'], Known>>();

  /** What is known of the rules of a form; to be filled by the first of them. Undefined for rules of other kinds. */
  of(rule: RuleDefinition, form: object | undefined, catalog: Catalog): Known | undefined {
    const version = catalog.version?.();
    if (form === undefined || version === undefined || rule.test !== undefined) return undefined;
    const { actions, options } = rule;
    const { access } = catalog;
    let ofForm = this.#known.get(form);
    if (ofForm === undefined) {
      ofForm = new WeakMap();
      this.#known.set(form, ofForm);
    }
    const found = ofForm.get(actions);
    const now = performance.now();
    const hasConnectors = found !== undefined && isOf(found.connectors, actions);
    if (
      hasConnectors &&
      found.version === version &&
      found.access === access &&
      found.options === options &&
      now - found.at < trustedMs
    ) {
      return found;
    }
    const before = hasConnectors ? (found.specs ?? found.before) : undefined;
    const known: Known = { version, access, options, at: now, connectors: connectorsOf(actions), before };
    ofForm.set(actions, known);
    return known;
  }
}

/**
 * Notes the specs of a rule for the others. Lists that are as before stay those of before: data planes know a form by
 * them, and would have new ones sent, loaded and kept with each rule.
 */
export function noteSpecs(known: Known, specs: Specs): KnownSpecs | undefined {
  const { before } = known;
  const made = sharedSpecs(specs);
  known.specs = made && {
    sources: before !== undefined && isDeepStrictEqual(before.sources, made.sources) ? before.sources : made.sources,
    sinks: before !== undefined && isDeepStrictEqual(before.sinks, made.sinks) ? before.sinks : made.sinks,
    redact: made.redact,
  };
  return known.specs;
}

/** The specs without what belongs to one rule or may change at any time; undefined where nothing is left to share. */
function sharedSpecs({ sources, lookups, sinks, codecs, redact }: Specs): KnownSpecs | undefined {
  if (codecs.length > 0 || lookups.length > 0) return undefined;
  const isOwn = ({ cache, encoder, format, messages, program }: SinkSpec) =>
    cache?.folder !== undefined || [encoder, format, messages, program].some((part) => part !== undefined);
  const isLate = ({ decoder, messages, program }: SourceSpec) =>
    [decoder, messages, program].some((part) => part !== undefined);
  return sinks.some(isOwn) || sources.some(isLate) ? undefined : { sources, sinks, redact };
}

export function connectorsOf(actions: RuleDefinition['actions']): (Connector | undefined)[] {
  return actions.map(({ type }) => connectorOf(type));
}

/** Whether these are the connectors of the actions: those of plugins come and go. */
export function isOf(connectors: readonly (Connector | undefined)[], actions: RuleDefinition['actions']): boolean {
  return actions.every(({ type }, i) => connectorOf(type) === connectors[i]);
}
