/** Places that settings name: a folder, or a URL. */

/** Whether a text stands for a URL and not for a folder. */
export function isAddress(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(text);
}
