/** Results as one standalone HTML page: bars for each figure and the full table. */
import type { RunResult } from '../result.js';
import { cells } from './table.js';

const escapeHtml = (text: string): string => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

const figures: { title: string; of: (r: RunResult) => number; format: (v: number) => string }[] = [
  { title: 'Messages per second', of: (r) => r.rate, format: (v) => Math.round(v).toLocaleString('en') },
  { title: 'CPU time per message, ns', of: (r) => r.cpuNsPerMessage, format: (v) => v.toFixed(0) },
  { title: 'Share of one core, %', of: (r) => r.cpuShare * 100, format: (v) => v.toFixed(1) },
  { title: 'Latency p99, ms', of: (r) => r.latencyMs?.p99 ?? Number.NaN, format: (v) => v.toFixed(2) },
  { title: 'Peak memory, MB', of: (r) => r.peakBytes / 1e6, format: (v) => v.toFixed(0) },
];

const labelOf = (r: RunResult): string => {
  const knobs = Object.entries(r.knobs).map(([k, v]) => `${k}=${v}`);
  return [r.workload, r.engine, r.dataSet, r.sender === 'batching' ? '' : r.sender, ...knobs]
    .filter((t) => t !== '')
    .join(' · ');
};

function bars(
  title: string,
  results: RunResult[],
  of: (r: RunResult) => number,
  format: (v: number) => string,
): string {
  const shown = results.filter((r) => Number.isFinite(of(r)));
  if (shown.length === 0) return '';
  const most = Math.max(...shown.map(of), Number.MIN_VALUE);
  const height = shown.length * 26 + 8;
  const rows = shown
    .map((r, i) => {
      const y = i * 26 + 4;
      const width = Math.max(1, (of(r) / most) * 420);
      const kind = r.engine === 'haumea' ? 'own' : 'other';
      return (
        `<text x="290" y="${y + 15}" text-anchor="end">${escapeHtml(labelOf(r))}</text><rect class="${kind}" ` +
        `x="300" y="${y}" width="${width.toFixed(1)}" height="20"/><text x="${(306 + width).toFixed(1)}" ` +
        `y="${y + 15}">${format(of(r))}</text>`
      );
    })
    .join('');
  return (
    `<h2>${title}</h2><svg viewBox="0 0 860 ${height}" width="860" height="${height}" role="img" ` +
    `aria-label="${title}">${rows}</svg>`
  );
}

/** All results as a page with a table and plots; nothing is loaded from elsewhere. */
export function htmlReport(machine: string, results: RunResult[]): string {
  const rows = results.map(cells);
  const columns = Object.keys(rows[0] ?? {});
  const table = `<table><tr>${columns.map((c) => `<th>${c}</th>`).join('')}</tr>${rows
    .map((row) => `<tr>${columns.map((c) => `<td>${escapeHtml(row[c] as string)}</td>`).join('')}</tr>`)
    .join('')}</table>`;
  const findings = results
    .flatMap((r) => r.findings.map((f) => `<li>${escapeHtml(`${labelOf(r)}: ${f}`)}</li>`))
    .join('');
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Haumea benchmark</title><style>
body{font:14px system-ui,sans-serif;margin:2em;max-width:70em;color:#1b2430;background:#fff}
svg text{font:12px system-ui,sans-serif;fill:#1b2430}.own{fill:#0b7a75}.other{fill:#9aa5b1}
table{border-collapse:collapse}td,th{border-bottom:1px solid #dde3ea;padding:4px \
10px;text-align:right;font-variant-numeric:tabular-nums}
</style><h1>Haumea benchmark</h1><p>${escapeHtml(machine)}</p>${figures
    .map((f) => bars(f.title, results, f.of, f.format))
    .join('')}<h2>All figures</h2>${table}${findings ? `<h2>Findings</h2><ul>${findings}</ul>` : ''}</html>\n`;
}
