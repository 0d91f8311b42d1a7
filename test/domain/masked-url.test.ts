import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { maskPassword } from '../../src/config/parsers.ts';
import { ConfigError, readConfig } from '../../src/config.ts';
import { maskUrl } from '../../src/domain/mask-url.ts';
import { always } from '../support/property.ts';

const password = 'se/cr:et@1';

describe('a masked URL', () => {
  test.each([
    ['postgres://u:pw@h:5432/db', 'postgres://u:***@h:5432/db'],
    ['postgres://u@h/db?sslmode=require&password=X', 'postgres://u:***@h/db?sslmode=require&password=***'],
    [
      'postgres://h/db?user=u&password=X&search_path=s',
      'postgres://h/db?user=***&password=***&search_path=s',
    ],
    ['postgres://u:a/b@h/db', 'postgres:***'],
    [' redis://:pw@h:6379/0', 'redis://:***@h:6379/0'],
    ['jdbc:postgresql://h/db?user=u&password=X', 'jdbc:***'],
    ['postgres+ssl://u:pw@h/db', 'postgres+ssl://u:***@h/db'],
    ['"postgres://u:pw@h/db"', '***'],
    ['host=h user=u password=X', '***'],
    ['sqlite:./data/a@b.db', 'sqlite:./data/a@b.db'],
    ['./data/store.db', './data/store.db'],
    ['mysql://localhost/pets', 'mysql://localhost/pets'],
  ])('for %s is %s', (text, shown) => {
    expect(maskUrl(text)).toBe(shown);
  });

  test.each([
    ['redis://:pw@h1:6379,h2:6380', 'redis://:***@h1:6379,redis://:***@h2:6380'],
    ['redis://:p,w@h1', 'redis://:***@h1'],
    ['redis://u:p@w@h1,h2', 'redis:***,redis:***'],
  ])('for the Redis hosts %s is %s', (value, shown) => {
    expect(maskPassword(value, 'REDIS_URL')).toBe(shown);
  });

  test('contains no password, even of a malformed URL', () => {
    const forms = [
      (secret: string) => `postgres://u:${secret}@h/db`,
      (secret: string) => `postgres://u:${encodeURIComponent(secret)}@h/db`,
      (secret: string) => `postgres://h/db?user=u&password=${secret}`,
      (secret: string) => `"rediss://:${secret}@h"`,
      (secret: string) => ` postgres://h/db?sslpassword=${secret}`,
      (secret: string) => `jdbc:postgresql://h/db?password=${secret}`,
      (secret: string) => `host=h password='${secret}'`,
    ];
    // These letters occur in no other part of the URLs.
    const secret = fc.string({
      unit: fc.constantFrom('Q', 'Z', 'X', '/', ':', '@', '?', '#', '%', ' '),
      minLength: 6,
    });
    always(fc.tuple(fc.constantFrom(...forms), secret), ([form, chosen]) => {
      expect(maskUrl(form(chosen))).not.toMatch(/[QZX]/);
    });
  });

  test('is shown in errors about settings', () => {
    const messageOf = (environment: Record<string, string>) => {
      try {
        readConfig(environment);
        return '';
      } catch (error) {
        return error instanceof ConfigError ? error.message : String(error);
      }
    };
    for (const DATABASE_URL of [
      `postgres://u:${password}@h/db`,
      `jdbc:postgresql://u:${password}@h/db`,
      `"postgres://u:${password}@h"`,
    ]) {
      expect(messageOf({ DATABASE_URL })).toContain('***');
      expect(messageOf({ DATABASE_URL })).not.toContain('cr:et');
    }
    expect(messageOf({ PUBLIC_URL: `https://u:${password}@h` })).not.toContain('cr:et');
    expect(messageOf({ GET_PET_SUNSET: '2030-12-05T00:00:00' })).toContain('2030-12-05T00:00:00');
  });
});
