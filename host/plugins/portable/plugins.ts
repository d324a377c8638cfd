/** The portable plugins of a data plane. */
import { type PortableCode, type PortableUse, portableNoun } from './code.js';
import { PortablePlugin } from './plugin.js';

/** Name under which connectors find them among what a data plane shares. */
export const portablePluginsKey = 'portable.plugins';

/** A rule with the plugins of its functions, sources and sinks, each as often as it is used. */
export interface PortableUser {
  readonly id: string;
  readonly portables: readonly PortableCode[];
}

export class PortablePlugins {
  readonly #byName = new Map<string, PortablePlugin>();

  /**
   * @param hostOf takes the output of the plugin that is named
   * @param warn takes a line about a plugin
   */
  constructor(
    private readonly hostOf: (owner: string) => { log(line: string): void },
    private readonly warn: (line: string) => void,
  ) {}

  /** The plugin; who uses it tells so by `use`. */
  of(code: PortableCode): PortablePlugin {
    let plugin = this.#byName.get(code.name);
    if (plugin === undefined) {
      const host = this.hostOf(`${portableNoun} ${code.name}`);
      plugin = new PortablePlugin(code, { print: (line) => host.log(line), warn: this.warn });
      this.#byName.set(code.name, plugin);
    } else void plugin.replace(code);
    return plugin;
  }

  /** The plugin has a new program, or none. */
  async replace(name: string, code: PortableCode | null): Promise<void> {
    const plugin = this.#byName.get(name);
    if (plugin === undefined) return;
    if (code !== null) return plugin.replace(code);
    // Rules that use it go on with the next one of the name.
    if (!plugin.isUsed) this.#byName.delete(name);
    await plugin.close(`${portableNoun} ${name} is not there any more`);
  }

  /** Names of those functions that take groups; rejects with the reason when the plugin does not tell. */
  async aggregatesOf(code: PortableCode): Promise<string[]> {
    const plugin = this.of(code);
    plugin.use();
    try {
      const found: string[] = [];
      for (const name of code.functions) {
        if ((await plugin.function(name).call('IsAggregate', '[]')) === true) found.push(name);
      }
      return found;
    } finally {
      plugin.leave();
    }
  }

  /** All plugins that were started, with the rules among these that use them. */
  uses(rules: Iterable<PortableUser>): PortableUse[] {
    const all = [...rules];
    const present = [...this.#byName].filter(([, plugin]) => !plugin.isRemoved);
    return present.map(([name, plugin]) => {
      const counts = all.flatMap(({ id, portables }): [string, number][] => {
        const count = portables.filter((code) => code.name === name).length;
        return count === 0 ? [] : [[id, count]];
      });
      return { name, refCount: Object.fromEntries(counts), ...plugin.state };
    });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#byName.values()].map((plugin) => plugin.close('the engine ends')));
  }
}
