// Checksums of registers as devices send them.

// CRC-16 of Modbus over the low bytes of a value, the lowest first; -1 for a number of bytes that it has not.
__attribute__((export_name("modbus_crc")))
int modbus_crc(long long value, int bytes) {
  if (bytes < 1 || bytes > 8) return -1;
  unsigned crc = 0xffff;
  for (int i = 0; i < bytes; i++) {
    crc ^= (unsigned)(value >> (8 * i)) & 0xff;
    for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >> 1) ^ 0xa001 : crc >> 1;
  }
  return (int)crc;
}

// The decimal number that the hexadecimal digits of a value show: 0x1234 is 1234 (BCD); -1 where a digit is none.
__attribute__((export_name("from_bcd")))
long long from_bcd(long long value) {
  long long number = 0, place = 1;
  for (int i = 0; i < 16; i++, place *= 10) {
    int digit = (value >> (4 * i)) & 15;
    if (digit > 9) return -1;
    number += digit * place;
  }
  return number;
}
