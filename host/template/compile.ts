/** Go's text templates over JSON messages: the sink property `dataTemplate`. */
import { parse } from './parse.js';
import { Budget, readJson, TemplateError, type Value } from './value.js';

export { TemplateError } from './value.js';

/** Steps of one message: loops, calls and the work on long texts. About a tenth of a second. */
const maxUnits = 1_000_000;
/** Most characters of a message. */
const maxText = 16 << 20;

export interface Template {
  /** Renders a JSON text. Throws `TemplateError` for what fails on this data. */
  render(json: string): string;
  /** Renders a value, as `readJson` returns it; throws like `render`. */
  renderValue(data: Value): string;
}

/** Compiles a template. Throws a `plan` error that names the line for one that is not right. */
export function compileTemplate(source: string): Template {
  const { main, templates } = parse(source);
  const renderValue = (data: Value): string => {
    const out = { parts: [] as string[], length: 0 };
    const budget = new Budget(maxUnits, maxText);
    try {
      main({ vars: [data], out, budget, templates, depth: 0 }, data);
    } catch (error) {
      // The stack is spent by templates that call one another within deep actions.
      if (error instanceof RangeError) throw new TemplateError(`template: sink: ${error.message}`);
      throw error;
    }
    return out.parts.join('');
  };
  return { render: (json) => renderValue(readJson(json)), renderValue };
}
