"""What programs say of a Python package that is not in this interpreter."""

from __future__ import annotations

from remedy.causes.entry import Signature, any_of
from remedy.causes.shared import GOES_ON
from remedy.hints import Final

#: Packages of the serving world, as their users' messages call them; a hyphen stands in names of pip's alone.
PACKAGE: Final = (
    r"(?:[Tt]orch(?:_xla|audio|codec)?|PyTorch|pytorch|[Tt]riton|[Tt]ransformers|tokenizers|huggingface\w*|pydantic|mistral\w*"
    r"|[Uu]nsloth(?:_zoo)?|[Ff]lash_?[Ii]nfer"
    r"|[Ff]lash_?[Aa]tt(?:n|ention)\d?|[Ff]lash_?MLA|[Dd]eep_?(?:GEMM|gemm|EP|ep|[Ss]peed)|xformers|vllm|vLLM|sglang|SGLang"
    r"|sgl_kernel|NIXL|nixl|[Rr]ay|accelerate|peft|bitsandbytes|torchao|torchvision|numpy|NumPy|kernels|optimum|outlines"
    r"|xgrammar|cuDNN|(?!compute-|sm-)[a-z]\w*(?:-[a-z]\w*)+)"
)

# What is said to be a package by the words around it; a program or the toolkit may be asked for in the same sentence.
_NAMED: Final = (
    r"[`'\"<]?(?P<module>(?!CUDA|cuda\b|nvcc|ninja|gcc|GPU|NVIDIA|its\b|layer\b|importable\b)[A-Za-z][\w.-]*)[`'\">]?"
)
_WANTED: Final = (
    r"requires? (?:the )?(?:package )?"
    + _NAMED
    + r"(?: (?:package|library|module)\b|,? but \S+ not installed| to be installed)"
    r"|requires? installation of \w"
    r"|requires the (?P<module2>\w+) library but it was not found"
    r"|requires (?!.*(?:CUDA|nvcc|toolkit|driver)).{1,60} to be installed"
    r"|(?:package|library|module) (?:\([^)]*\) )?is required when"
)
# The name of a package in a sentence in which a program, the toolkit or a driver would stand as well.
_MODULE: Final = (
    r"(?!(?:CUDA|[Cc]uda|NVIDIA|nvidia|nvcc|NVCC|ninja|gcc|clang|cmake|git|docker|ffmpeg|GPU|[Dd]rivers?|[Tt]oolkit"
    r"|[Cc]ompiler|the|a|an|it|its|and|or|but|is|are|was|not|to|be|required|latest)\b(?!-))[A-Za-z][\w.-]+"
)
_IN_QUOTES: Final = r"[`'\"]?(?P<{}>" + _MODULE + r")[`'\"]?"
MISSING: Final = (
    Signature(
        "No module named",
        # without its own library Python did not start: PYTHONHOME, or an installation that was moved
        r"ModuleNotFoundError: No module named '?(?!encodings)(?P<module>[\w.]+)'?"
        # xformers names so the Triton that it goes on without
        r"|(?<!Error caught was): No module named '?(?!encodings)(?P<module2>[\w.-]+)'?(?:;|$)",
    ),
    # pip, of what another package asks for
    Signature(
        "which is not installed",
        r"v?\d\S* requires (?P<module>[\w.-]+)\S*, which is not installed",
        library="pip",
    ),
    Signature("but it's not installed", r"requires `(?P<module>[\w.-]+)[^`]*`, but it's not installed", library="uv"),
    Signature("No package metadata was found for", r"found for (?P<module>[\w.-]+)"),
    Signature("DistributionNotFound"),
    Signature(
        "is not installed",
        r"ImportError: .*is not installed|(?:package|module|library) [`'\"]?\w+[`'\"]? is not installed"
        r"|'?\w+'? is not installed[.,;]? (?:[Pp]lease|[Ii]nstall|[Rr]un)"
        # no program has such a name
        r"|[:：] ?(?!nvidia|cuda)[a-z]{2,20}_\w{2,30} is not installed[.。]?$",
    ),
    Signature(
        "lease install",
        r"(?:ImportError|ModuleNotFoundError|RuntimeError|ValueError|AssertionError|NotImplementedError): .*"
        r"[Pp]lease install"
        r"(?! (?:the )?(?:CUDA|cuda|nvcc|gcc|g\+\+|clang|ninja)(?![\w-]))",
    ),
    # an ImportError that a package raises of itself says which other it wants
    Signature(
        "ImportError: ",
        r"ImportError: .*(?:was not found on your system|Cannot import torch"
        r"|\b(?:[Ii]nstall|installed)\b(?!.*(?:CUDA|nvcc|driver))"
        r"|(?<!CUDA )is required (?:for|to|when)"
        # (what ld.so says that a file requires is a library's version)
        r"|(?<!object )\b(?:requires?|needs?|required(?! by \S*/))\b(?!.{1,60}(?:>=|at least|GPU|driver|CUDA)))",
    ),
    *any_of(" package", " library", " module", "installed", "installation of", pattern=_WANTED, needs="require"),
    Signature("requires ", r"requires (?:<[\w.-]+>|nvidia-[\w-]+|DeepGEMM|deep_gemm|FlashInfer|flash_attn|Triton)\.?$"),
    Signature(
        "nstall",
        r"requires (?P<module>[\w.-]+); install it|(?:; |\. |Error: )[Ii]nstall (?:the pinned \w+ )?[`'\"]?"
        + PACKAGE
        + r"[`'\"]?(?:\.?$| build| (?:or|to) [a-z])"
        r"|Error: [Nn]eed to install (?!(?:the )?(?:CUDA|cuda|nvcc|NVIDIA|driver))"
        r"|requires a (?:usable|working) (?P<module2>\w+) installation"
        r"|ensure the '(?P<module3>[\w.-]+)' package is installed",
    ),
    Signature(
        "installed",
        r"seems? to be not installed|(?:does not|doesn't) seem to be installed|but it is not installed"
        r"|Error: (?!CUDA|cuda|nvcc|NVIDIA|GPU)[\w.-]+ must be installed"
        r"|[Mm]ake sure [`'\"](?:\w+)[`'\"] is installed|please make sure (?!.*(?:CUDA|driver)).{1,60} are installed"
        r"|(?:[Mm]ake sure you have|[Yy]ou need(?: to have)?) [`'\"]?(?P<module>(?!CUDA|nvcc)[\w.-]+)[`'\"]? installed"
        r"|Error: (?:.* )?[`'\"]?(?P<module2>(?!driver|CUDA|nvcc|ninja|toolkit|compiler|gcc|but\b|and\b)\w[\w.-]*)"
        r"[`'\"]?(?: package)? is not installed(?! or not)",
    ),
    Signature("not found. ", r"\b(?P<module>\w+)\)? (?:library|module) (?:was )?not found\. (?:Please install|See)"),
    Signature("ModuleNotFoundError", r"ModuleNotFoundError: [`'\"]?(?P<module>\w+)[`'\"]? not found"),
    *any_of(
        "python bindings not available",
        "find a working triton installation",
        "meta package installed. Install",
        pattern=r"(?P<module>\w+) python bindings|working (?P<module2>triton) inst|empty `(?P<module3>[\w-]+)` meta",
    ),
    Signature("equirements in your local environment"),
    *any_of(
        "instantiate the backend tokenizer",
        "SentencePiece and Tiktoken failed",
        "re this object's requirements defined correctly",
        pattern="",
        library="transformers",
    ),
    Signature("invalid or not found", r"class uri '(?P<module>\w+)"),
    *any_of(
        "kernels not found",
        "kernels are not installed",
        "not available. Install it",
        pattern=r"(?<![\w.-])(?P<module>[\w.-]+)(?: kernels)? (?:are |is )?not (?:found|installed|available)\. "
        r"(?:Please|Install)",
    ),
    # kernel libraries, which serving programs import where they are, and ask for later
    *any_of(
        "is not available",
        "is unavailable",
        "to be installed",
        pattern=r"(?:Error|error)\W.*?\b(?P<module>[Dd]eep_?(?:GEMM|gemm|EP|ep)|[Ff]lash_?(?:[Ii]nfer|MLA|mla)|NIXL"
        r"|x[Ff]ormers|[Ff]lash[-_ ]?[Aa]tt(?:n|ention)(?:[ -]?[23])?|Triton)(?: backend| package)?(?:,? which)?"
        r" (?:is (?:not |un)available|to be installed)" + GOES_ON,
    ),
    # Dynamo, of the engine that it is to run
    Signature("ailed to import python '", r"import python '(?P<module>\w+)' module", library="dynamo"),
    Signature("packages that were not found in your environment", r"your environment: (?P<module>[\w.-]+)"),
    # an error that ends in the command which would help
    Signature(
        "pip install",
        r"(?:Error: .*|[Ii]nstall (?:(?:it|them) )?(?:using|with|by|via):? [`'\"]?)\bpip install [`'\"]?"
        r"(?!-U|--upgrade)(?P<module>[\w.-]+)",
    ),
    Signature(
        "installed",
        r"Error: (?:.*\b(?:requires|needs) "
        + _IN_QUOTES.format("module")
        + r" installed\b|(?:.*[.:] )?"
        + _IN_QUOTES.format("module2")
        + r"(?: package)? (?:(?:is )?(?:required but )?not|isn't|(?:should|must|needs to) be) installed\b(?! by )"
        r"|(?!.*may be because).*\bdependencies are not installed)"
        r"|(?:do not|don't) (?:seem to )?have "
        + _IN_QUOTES.format("module3")
        + r" installed(?!, using)|[Ee]nsure (?:that )?the "
        + _IN_QUOTES.format("module4")
        + r" (?:python )?package is (?:properly |correctly )?installed"
        r"|(?:[Uu]nable to|[Cc]ould not|[Ff]ailed to) import (?P<module5>\w+)\S*, please make sure it is installed",
    ),
    # who says "you" has no other way; of the compiler's world this is said as well
    *any_of(
        "to install ",
        "must install ",
        "first install ",
        pattern=r"(?:[Yy]ou (?:must|need to|have to|should)|[Pp]lease) (?:first )?install (?:the )?"
        + _IN_QUOTES.format("module")
        + r"(?![+ ]?\+)(?!.*\b(?:CUDA|nvcc|[Tt]oolkit|[Dd]river|[Cc]ompiler|gcc)\b)",
    ),
    Signature("was not found", r"ImportError: " + _IN_QUOTES.format("module") + r" was not found\b"),
    Signature(
        "ot found",
        r"Error: (?P<module>" + _MODULE + r") not found[.!] Please install (?:it|(?P=module))\b",
        needs="lease install",
    ),
    Signature("is required for", r"Error: (?P<module>" + _MODULE + r") is required for .{1,80}[.;] Install\b"),
    Signature("mport ", r"ImportError: (?:Could not|Cannot) import (?P<module>" + _MODULE + ")!?$"),
    Signature("requires cuda extensions", r"(?P<module>\w+)\.\S+ requires cuda extensions|requires cuda extensions"),
    Signature("necessary dependencies, such as", r"such as (?P<module>" + _MODULE + ")"),
    *any_of(
        "package is not available",
        "Python package",
        pattern=r"Error: (?:.* )?" + _IN_QUOTES.format("module") + r" (?:Python )?package is not available"
        r"|(?:needs|requires) the [`'](?P<module2>[\w.-]+)[`'] Python package",
    ),
    Signature("the package is not installed", r"Error: .*\brequires (?P<module>[\w.-]+).*the package is not installed"),
)
