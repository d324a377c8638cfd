/** Times written by Go's reference layout (`2006-01-02 15:04:05`). */

const months = 'January February March April May June July August September October November December'.split(' ');
const days = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');

/** The longer elements come first where one begins another. */
const element =
  /2006|January|Jan|Monday|Mon|MST|Z07:00|Z0700|-07:00|-0700|-07|[.,]0+|[.,]9+|01|02|_2|03|04|05|06|15|PM|pm|1|2|3|4|5/g;

/** Writes a time; `isUtc` or else in the local zone. */
export function goTime(time: Date, layout: string, isUtc = false): string {
  if (Number.isNaN(time.getTime())) return '0001-01-01 00:00:00 +0000 UTC';
  const offsetMin = isUtc ? 0 : -time.getTimezoneOffset();
  const local = new Date(time.getTime() + offsetMin * 60_000);
  const hour = local.getUTCHours();
  const two = (value: number) => String(value).padStart(2, '0');
  const zone = (colon: string) => {
    const minutes = Math.abs(offsetMin);
    return `${offsetMin < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}${colon}${two(minutes % 60)}`;
  };
  return layout.replace(element, (name) => {
    switch (name) {
      case '2006':
        return String(local.getUTCFullYear()).padStart(4, '0');
      case '06':
        return two(local.getUTCFullYear() % 100);
      case 'January':
        return months[local.getUTCMonth()]!;
      case 'Jan':
        return months[local.getUTCMonth()]!.slice(0, 3);
      case '01':
        return two(local.getUTCMonth() + 1);
      case '1':
        return String(local.getUTCMonth() + 1);
      case 'Monday':
        return days[local.getUTCDay()]!;
      case 'Mon':
        return days[local.getUTCDay()]!.slice(0, 3);
      case '02':
        return two(local.getUTCDate());
      case '_2':
        return String(local.getUTCDate()).padStart(2, ' ');
      case '2':
        return String(local.getUTCDate());
      case '15':
        return two(hour);
      case '03':
        return two(hour % 12 || 12);
      case '3':
        return String(hour % 12 || 12);
      case '04':
        return two(local.getUTCMinutes());
      case '4':
        return String(local.getUTCMinutes());
      case '05':
        return two(local.getUTCSeconds());
      case '5':
        return String(local.getUTCSeconds());
      case 'PM':
        return hour < 12 ? 'AM' : 'PM';
      case 'pm':
        return hour < 12 ? 'am' : 'pm';
      case 'MST':
        return offsetMin === 0 ? 'UTC' : zone('').replace(/00$/, '');
      case 'Z07:00':
        return offsetMin === 0 ? 'Z' : zone(':');
      case 'Z0700':
        return offsetMin === 0 ? 'Z' : zone('');
      case '-07:00':
        return zone(':');
      case '-0700':
        return zone('');
      case '-07':
        return zone('').slice(0, 3);
      default: {
        const fraction = String(local.getUTCMilliseconds())
          .padStart(3, '0')
          .padEnd(9, '0')
          .slice(0, name.length - 1);
        if (name[1] === '0') return name[0] + fraction;
        const short = fraction.replace(/0+$/, '');
        return short === '' ? '' : name[0] + short;
      }
    }
  });
}
