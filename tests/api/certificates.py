"""Certificates for tests: a signer, and whoever it signs for."""

import datetime as dt
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAY = dt.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Signer:
    """Signs certificates; its own is in ``path``."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate
    path: Path

    def sign(self, name: str, certificate: Path, key: Path) -> int:
        """Write a certificate for 127.0.0.1 under this name, and its key; its serial number."""
        own = ec.generate_private_key(ec.SECP256R1())
        made = (
            _begun(name, self.certificate.subject)
            .public_key(own.public_key())
            .add_extension(
                x509.SubjectAlternativeName(
                    [x509.DNSName(name), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
                ),
                critical=False,
            )
            .sign(self.key, hashes.SHA256())
        )
        certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
        key.write_bytes(
            own.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return made.serial_number


def signer(path: Path, called: str = "signer") -> Signer:
    """A new one, whose certificate is written to ``path``."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, called)])
    made = (
        _begun(called, name)
        .public_key(key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    path.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    return Signer(key, made, path)


def _begun(name: str, issuer: x509.Name) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(issuer)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - DAY)
        .not_valid_after(now + DAY)
    )
