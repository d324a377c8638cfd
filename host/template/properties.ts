/** Properties of sinks that are templates over the rows of each message: `"topic": "devices/{{.id}}"`. */
import { isRowTemplate } from '../base/fields/row-template.js';
import { compileTemplate } from './compile.js';
import type { Value } from './value.js';

type Render = (data: Value) => unknown;

export class PropertyTemplates {
  readonly #renders: readonly (readonly [name: string, render: Render])[];

  /**
   * @param props those that are templates, or objects with templates in them
   * @throws a `plan` error for a template that is not right
   */
  constructor(props: Readonly<Record<string, unknown>>) {
    this.#renders = Object.entries(props).map(([name, value]) => [name, renderOf(value)]);
  }

  /** The values for these rows, by property; throws `TemplateError` for rows of which there are none. */
  render(data: Value): Record<string, unknown> {
    return Object.fromEntries(
      this.#renders.map(([name, render]) => {
        try {
          return [name, render(data)];
        } catch (error) {
          (error as Error).message = `property ${name}: ${(error as Error).message}`;
          throw error;
        }
      }),
    );
  }
}

function renderOf(value: unknown): Render {
  if (!isRowTemplate(value)) return () => value;
  if (typeof value === 'string') return compileTemplate(value).renderValue;
  if (Array.isArray(value)) {
    const items = value.map(renderOf);
    return (data) => items.map((render) => render(data));
  }
  const members = Object.entries(value as object).map(([name, member]) => [name, renderOf(member)] as const);
  return (data) => Object.fromEntries(members.map(([name, render]) => [name, render(data)]));
}
