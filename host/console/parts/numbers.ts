/** Numbers, sizes and times as people read them. */
import { language } from '../state/language.js';

const locale = () => (language.value === 'zh' ? 'zh-CN' : 'en');

/** 12,345 or 1.2M: short enough for a tile. */
export function short(value: number): string {
  const options: Intl.NumberFormatOptions =
    Math.abs(value) < 10_000
      ? { maximumFractionDigits: value % 1 === 0 || Math.abs(value) >= 100 ? 0 : 1 }
      : { notation: 'compact', maximumFractionDigits: 1 };
  return new Intl.NumberFormat(locale(), options).format(value);
}

export function bytes(value: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  const step = value < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(value) / 10));
  return `${short(value / 1024 ** step)} ${units[step]}`;
}

export function moment(epochMs: number): string {
  return new Intl.DateTimeFormat(locale(), { dateStyle: 'medium', timeStyle: 'short' }).format(epochMs);
}

/** With seconds, where things come one after the other. */
export function exactMoment(epochMs: number): string {
  return new Intl.DateTimeFormat(locale(), { dateStyle: 'medium', timeStyle: 'medium' }).format(epochMs);
}

/** Time of day, for axes and short lists. */
export function clock(epochMs: number): string {
  return new Intl.DateTimeFormat(locale(), { timeStyle: 'medium' }).format(epochMs);
}
