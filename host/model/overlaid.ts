/** Engines that stand in front of another. */
import type { Engine } from './engine.js';

/** The engine with some of its members replaced. */
export function overlaid(engine: Engine, overrides: Partial<Engine>): Engine {
  return new Proxy(engine, {
    get: (target, name) => {
      if (Object.hasOwn(overrides, name)) return overrides[name as keyof Engine];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
    set: (target, name, value) => Reflect.set(target, name, value, target),
  });
}
