/** Two texts, line by line. */
import type { Line } from '../../sdk/differences.js';

export function Lines({ lines }: { lines: readonly Line[] }) {
  return (
    <pre class="lines">
      {lines.map(({ sign, text }, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines have their place alone
        <div key={i} class={sign === '-' ? 'bad' : sign === '+' ? 'good' : 'faint'}>
          {`${sign} ${text}`}
        </div>
      ))}
    </pre>
  );
}
