// Orrery starts threads from its own files, so it must stay a package. This is what a standalone build copies, too.
export default { output: "standalone", serverExternalPackages: ["orrery"] };
