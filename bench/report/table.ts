/** Results as a table for the terminal. */
import { arch, cpus, platform, release } from 'node:os';
import { cores } from '../process.js';
import type { RunResult } from '../result.js';

/** Machine, versions and pinning in one line. */
export function machineLine(): string {
  const all = cpus();
  const pinned = cores ? `engine on core ${cores.engine}, generator on ${cores.others}` : 'not pinned';
  return (
    `${all[0]?.model ?? 'unknown CPU'}, ${all.length} cores, ${platform()} ${release()} ${arch()}, Node ` +
    `${process.version}, ${pinned}`
  );
}

const short = (value: number, unit: string, digits = 2): string =>
  Number.isFinite(value) ? `${value.toFixed(digits)}${unit}` : '-';

/** Figures of a result as text, by column. */
export function cells(r: RunResult): Record<string, string> {
  return {
    workload:
      r.workload +
      Object.entries(r.knobs)
        .map(([k, v]) => ` ${k}=${v}`)
        .join(''),
    engine: r.engine,
    data: r.dataSet,
    sender: r.sender,
    'msg/s': Number.isFinite(r.rate) ? Math.round(r.rate).toLocaleString('en') : '-',
    'CPU ns/msg': short(r.cpuNsPerMessage, '', 0),
    'CPU %': short(r.cpuShare * 100, '', 1),
    'lost %': short(r.lostPercent, '', 3),
    'p50 ms': r.latencyMs ? short(r.latencyMs.p50, '') : '-',
    'p99 ms': r.latencyMs ? short(r.latencyMs.p99, '') : '-',
    'peak MB': short(r.peakBytes / 1e6, '', 0),
    'KiB/rule': r.rules > 1 ? short(r.bytesPerRule / 1024, '', 1) : '-',
    'start ms': short(r.startMs, '', 0),
    check: r.findings.length === 0 ? 'ok' : `${r.findings.length} finding(s)`,
  };
}

/** All results as a table, and how many times as fast as the plain program each workload is. */
export function tableReport(results: RunResult[]): string {
  const rows = results.map(cells);
  const columns = Object.keys(rows[0] ?? {});
  const widths = columns.map((c) => Math.max(c.length, ...rows.map((row) => (row[c] as string).length)));
  const line = (values: string[]): string => values.map((v, i) => v.padStart(widths[i] as number)).join('  ');
  let text = `${line(columns)}\n`;
  for (const row of rows) text += `${line(columns.map((c) => row[c] as string))}\n`;
  for (const r of results) {
    const twin = results.find((t) => t.engine === 'plain JS' && t.workload === r.workload && t.dataSet === r.dataSet);
    if (twin && twin !== r)
      text += `${r.workload} ${r.dataSet}: ${(r.rate / twin.rate).toFixed(1)} times the plain JavaScript program\n`;
  }
  return text;
}
