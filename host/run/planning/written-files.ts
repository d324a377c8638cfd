/** Files that sinks of rules write, by path: lines of two rules in one file get mixed. */
import { normalize } from 'node:path';
import { connectorOf } from '../../connectors/index.js';
import { actionPath } from '../../model/actions.js';
import type { RuleDefinition } from '../../model/engine.js';

export class WrittenFiles {
  /** Ids of the rules that write a file, in the order in which they came. */
  readonly #writers = new Map<string, Set<string>>();

  add(rule: RuleDefinition): void {
    for (const path of filesOf(rule).keys()) {
      const writers = this.#writers.get(path);
      if (writers === undefined) this.#writers.set(path, new Set([rule.id]));
      else writers.add(rule.id);
    }
  }

  /** Takes the files of a rule out that it had by this definition. */
  remove(rule: RuleDefinition): void {
    for (const path of filesOf(rule).keys()) {
      const writers = this.#writers.get(path);
      writers?.delete(rule.id);
      if (writers?.size === 0) this.#writers.delete(path);
    }
  }

  /** Files of the rule that other rules write as well, a sentence each. */
  warningsOf(rule: RuleDefinition): string[] {
    return [...filesOf(rule)].flatMap(([path, where]) =>
      [...(this.#writers.get(path) ?? [])].flatMap((id) =>
        id === rule.id ? [] : [`${where} is written by rule ${id} as well`],
      ),
    );
  }
}

/** Files of the sinks by path, with the property that names each. */
function filesOf({ actions }: RuleDefinition): Map<string, string> {
  const files = new Map<string, string>();
  actions.forEach(({ type, props }, i) => {
    for (const name of connectorOf(type)?.sink?.ownFiles ?? []) {
      const path = props[name];
      if (typeof path === 'string') files.set(normalize(path), `${actionPath(actions, i)}.${name} ${path}`);
    }
  });
  return files;
}
