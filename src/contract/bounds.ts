export const maxBodyBytes = 16_384;

/** Maximum size of a sign-in body in bytes. The limit is low because anyone can send such bodies. */
export const maxSignInBytes = 1_024;

export const maxUploadBytes = 1_073_741_824;

/** Maximum size of an import preview in bytes. */
export const maxPreviewBytes = 65_536;

/** Maximum number of mistakes listed in an error. A 16 KiB request can contain thousands of mistakes. */
export const maxDetails = 20;
/** Maximum length of a name in an error, in UTF-16 code units. Longer names are truncated. */
export const maxNameLength = 64;
